"""TensorRT-LLM's free queues, compiled. Times are microseconds.

`kvaudit.replay.models.trtllm_queues` is what they must equal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import inner
from kvaudit.replay.kernels.eviction_queue import Queue, empty_queue, offer, with_room
from kvaudit.replay.kernels.eviction_queue import take as take_first
from kvaudit.replay.kernels.growth import grown
from kvaudit.replay.kernels.trtllm_tree import BLOCKS, FREED, MADE, NEVER, NOBODY, Pool
from kvaudit.replay.models.trtllm_retention import DEFAULT_PRIORITY, MAX_PRIORITY, NO_DURATION


class Expiring(NamedTuple):
    """Which priorities fall, and when; not in the pool, since hardly any helper needs it."""

    releases: NDArray[np.int64]
    """How many releases there were after which a priority falls, shape (1,)."""
    release: NDArray[np.int64]
    """By block: the number of the release since when that is so."""
    queue: Queue


def nothing_expires() -> Expiring:
    """Return the queue of a pool of which no block was ever used."""
    return Expiring(np.zeros(1, np.int64), np.empty(0, np.int64), empty_queue())


def expiring_with_room(expiring: Expiring, blocks: int, releases: int) -> Expiring:
    """Return the queue with room for ``blocks`` blocks and for so many more releases."""
    return expiring._replace(
        release=grown(expiring.release, blocks),
        queue=with_room(expiring.queue, blocks, releases),
    )


@inner
def let_expire(pool: Pool, expiring: Expiring, block: int, now: int) -> None:
    """Let the priority of a block that was freed fall after the time that was asked for."""
    if pool.priority[block] != DEFAULT_PRIORITY:
        expiring.releases[0] += 1
        pool.until[block] = now + pool.duration[block]
        expiring.release[block] = expiring.releases[0]
        offer(expiring.queue, block, pool.until[block], expiring.release[block])


@inner
def refresh(pool: Pool, expiring: Expiring, now: int) -> None:
    """Let the priorities fall that were asked for until now."""
    queue, release_of = expiring.queue, expiring.release
    while queue.size[0] > 0 and queue.first[0] <= now:
        block, until, release = take_first(queue)
        if block == NOBODY or pool.until[block] == NEVER:
            continue
        if pool.until[block] != until or release_of[block] != release:
            offer(queue, block, pool.until[block], release_of[block])
            continue
        claim(pool, block)
        pool.priority[block] = DEFAULT_PRIORITY
        free(pool, block)


@inner
def free(pool: Pool, block: int) -> None:
    """Free a block: it is the last of its priority."""
    level, priority = int(pool.host[block]), pool.priority[block]
    last = pool.heads[1, level, priority]
    pool.free_before[block], pool.free_after[block] = last, NOBODY
    if last == NOBODY:
        pool.heads[0, level, priority] = block
    else:
        pool.free_after[last] = block
    pool.heads[1, level, priority] = block
    pool.totals[FREED + level] += 1


@inner
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


@inner
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


@inner
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
