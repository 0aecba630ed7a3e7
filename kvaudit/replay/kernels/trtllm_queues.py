"""TensorRT-LLM's free queues, compiled. Times are microseconds.

`kvaudit.replay.models.trtllm_queues` is what they must equal.
"""

from __future__ import annotations

from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.kernels.eviction_queue import offer
from kvaudit.replay.kernels.eviction_queue import take as take_first
from kvaudit.replay.kernels.trtllm_tree import BLOCKS, FREED, MADE, NEVER, NOBODY, RELEASES, Pool
from kvaudit.replay.models.trtllm_retention import DEFAULT_PRIORITY, MAX_PRIORITY, NO_DURATION


@compiled
def free(pool: Pool, block: int, now: int) -> None:
    """Free a block: it is the last of its priority, which may last for some time only."""
    _append(pool, block)
    if pool.duration[block] != NO_DURATION and pool.priority[block] != DEFAULT_PRIORITY:
        pool.totals[RELEASES] += 1
        pool.until[block] = now + pool.duration[block]
        pool.release[block] = pool.totals[RELEASES]
        offer(pool.expiring, block, pool.until[block], pool.release[block])


@compiled
def refresh(pool: Pool, now: int) -> None:
    """Let the priorities fall that were asked for until now."""
    while pool.expiring.size[0] > 0 and pool.expiring.first[0] <= now:
        block, until, release = take_first(pool.expiring)
        if block == NOBODY or pool.until[block] == NEVER:
            continue
        if pool.until[block] != until or pool.release[block] != release:
            offer(pool.expiring, block, pool.until[block], pool.release[block])
            continue
        claim(pool, block)
        pool.priority[block] = DEFAULT_PRIORITY
        _append(pool, block)


@compiled
def _append(pool: Pool, block: int) -> None:
    level, priority = int(pool.host[block]), pool.priority[block]
    last = pool.heads[1, level, priority]
    pool.free_before[block], pool.free_after[block] = last, NOBODY
    if last == NOBODY:
        pool.heads[0, level, priority] = block
    else:
        pool.free_after[last] = block
    pool.heads[1, level, priority] = block
    pool.totals[FREED + level] += 1


@compiled
def claim(pool: Pool, block: int) -> None:
    """Take a block out of its queue."""
    pool.until[block] = NEVER
    level, priority = int(pool.host[block]), pool.priority[block]
    before, after = pool.free_before[block], pool.free_after[block]
    if before == NOBODY:
        pool.heads[0, level, priority] = after
    else:
        pool.free_after[before] = after
    if after == NOBODY:
        pool.heads[1, level, priority] = before
    else:
        pool.free_before[after] = before
    pool.totals[FREED + level] -= 1


@compiled
def take(pool: Pool, level: int, size: int, bounded: bool) -> int:
    """Take the block of a level that is to be used next; ``size`` is how many there are."""
    unused = pool.totals[MADE + level] < size
    if unused and not bounded:
        return int(_unused(pool, level))
    for priority in range(MAX_PRIORITY + 1):
        if priority == DEFAULT_PRIORITY and unused:
            return int(_unused(pool, level))
        block = pool.heads[0, level, priority]
        if block != NOBODY:
            claim(pool, block)
            return int(block)
    return NOBODY


@compiled
def _unused(pool: Pool, level: int) -> int:
    block = pool.totals[BLOCKS]
    pool.totals[BLOCKS] += 1
    pool.totals[MADE + level] += 1
    pool.parent[block] = NOBODY
    pool.children[block] = NOBODY
    pool.host[block] = level == 1
    pool.priority[block] = DEFAULT_PRIORITY
    pool.duration[block] = NO_DURATION
    pool.until[block] = NEVER
    pool.keyed[block] = False
    return int(block)
