"""vLLM's tables of blocks, compiled; `kvaudit.replay.models.block_tables` defines them."""

from __future__ import annotations

from kvaudit.replay.kernels.block_keys import hits_unfinished_state, key_blocks
from kvaudit.replay.kernels.block_pool import EMPTY, FREE, NULL, UNKEYED, Pool, forget, give_back
from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.kernels.kv_layers import CHUNKED, Layers, Work, reserved_blocks, skipped_blocks


@compiled
def _needed(
    pool: Pool,
    layers: Layers,
    work: Work,
    request: int,
    end: int,
    computed: int,
    admits: bool,
    reserve: bool,
) -> int:
    """Return the free blocks that a request needs for its tokens up to ``end``."""
    needed = 0
    groups = len(layers.kind)
    for group in range(groups):
        blocks = -(-end // layers.block_size)
        if layers.aligns[group]:
            spec = layers.spec_of[group]
            length = work.hit_end[spec] if admits else work.used[work.slot[request], group]
            needed += 1 if blocks > length else 0
            if admits and length > 0:
                key = work.keys[work.starts[request] + length - 1] * groups + group
                needed += 1 if pool.users[pool.first[key]] == 0 else 0
            continue
        if reserve:
            blocks = reserved_blocks(layers, group, end)
        if not admits:
            needed += max(blocks - work.used[work.slot[request], group], 0)
            continue
        skipped = 0 if layers.takes_skipped_hits else skipped_blocks(layers, group, computed)
        spec = layers.spec_of[group]
        needed += max(blocks - max(skipped, work.hit_end[spec]), 0)
        for index in range(max(skipped, work.hit_start[spec]), work.hit_end[spec]):
            key = work.keys[work.starts[request] + index] * groups + group
            if pool.users[pool.first[key]] == 0:
                needed += 1
    return needed


@compiled
def _take_hit(
    pool: Pool, layers: Layers, work: Work, request: int, hit_tokens: int, slot: int
) -> None:
    """Take the hit blocks into the tables of a slot."""
    work.last_state[slot], work.retired[slot] = -1, 0
    groups = len(layers.kind)
    for group in range(groups):
        skipped = 0 if layers.takes_skipped_hits else skipped_blocks(layers, group, hit_tokens)
        spec = layers.spec_of[group]
        begin = max(skipped, work.hit_start[spec])
        length = max(skipped, work.hit_end[spec])
        for index in range(length):
            work.tables[slot, group, index] = NULL
        for index in range(begin, work.hit_end[spec]):
            key = work.keys[work.starts[request] + index] * groups + group
            block = pool.first[key]
            work.tables[slot, group, index] = block
            if pool.users[block] == 0:
                pool.newer[pool.older[block]] = pool.newer[block]
                pool.older[pool.newer[block]] = pool.older[block]
                pool.counts[FREE] -= 1
            pool.users[block] += 1
        work.used[slot, group] = length
        work.keyed[slot, group] = length


@compiled
def release(pool: Pool, layers: Layers, work: Work, request: int) -> None:
    """Take all blocks from a request, and its slot."""
    slot = work.slot[request]
    for group in range(len(layers.kind)):
        table, end = work.tables[slot, group], work.used[slot, group]
        give_back(pool, table, 0, end, layers.unkeyed_first[group], False, False)
        work.used[slot, group] = work.keyed[slot, group] = 0
    work.slot[request] = -1
    work.computed[request] = 0


@compiled
def _drop_skipped(pool: Pool, layers: Layers, work: Work, request: int, computed: int) -> None:
    """Give up the blocks that the request's next token does not look at."""
    own = work.slot[request]
    for group in range(len(layers.kind)):
        skipped = skipped_blocks(layers, group, computed)
        if skipped == 0:
            continue
        table, first = work.tables[own, group], layers.unkeyed_first[group]
        if layers.chunks_kept_longer and layers.kind[group] == CHUNKED:
            keyed = work.keyed[own, group]
            skipped = min(skipped, keyed - 1) if keyed else skipped
        skipped = min(skipped, work.used[own, group])
        aligns = layers.aligns[group]
        passes = aligns and layers.states_pass_nulls
        give_back(pool, table, work.retired[own] if passes else 0, skipped, first, True, passes)
        last = work.last_state[own]
        if aligns and 0 <= last < -(-computed // layers.block_size) - 1:
            give_back(pool, table, last, last + 1, first, True, True)
    work.retired[own] = max(work.retired[own], max(0, computed - 1) // layers.block_size)


@compiled
def allocate(
    pool: Pool,
    layers: Layers,
    work: Work,
    request: int,
    tokens: int,
    hit_tokens: int,
    slot: int,
    keep_free: int,
    whole_fits: bool,
) -> bool:
    """Give the request blocks for ``tokens`` more; False where there are too few.

    A ``hit_tokens`` that is not negative admits it into ``slot``, with the hit looked up last.
    """
    admits = hit_tokens >= 0
    computed = hit_tokens if admits else work.computed[request]
    end = computed + tokens
    free = pool.counts[FREE] - keep_free
    if admits and layers.states_wait and hits_unfinished_state(layers, work, request):
        return False
    if whole_fits:
        whole = work.tokens[request]
        if _needed(pool, layers, work, request, whole, computed, admits, True) > free:
            return False
    if not admits:
        _drop_skipped(pool, layers, work, request, computed)
        free = pool.counts[FREE] - keep_free
    if _needed(pool, layers, work, request, end, computed, admits, False) > free:
        return False
    if admits:
        _take_hit(pool, layers, work, request, hit_tokens, slot)
        work.slot[request] = slot
    own = work.slot[request]
    blocks = -(-end // layers.block_size)
    for group in range(len(layers.kind)):
        begin = work.used[own, group]
        if layers.aligns[group] and blocks > begin:
            work.last_state[own] = begin - 1
            work.tables[own, group, begin : blocks - 1] = NULL
            begin = blocks - 1
        for index in range(begin, blocks):
            block = pool.newer[0]
            pool.newer[0] = pool.newer[block]
            pool.older[pool.newer[block]] = 0
            pool.counts[FREE] -= 1
            pool.users[block] = 1
            work.tables[own, group, index] = block
            if pool.key[block] == UNKEYED:
                pool.counts[EMPTY] -= 1
            else:
                forget(pool, block)
                work.evicted[request] += 1
        work.used[own, group] = max(work.used[own, group], blocks)
    key_blocks(pool, layers, work, request, end)
    return True
