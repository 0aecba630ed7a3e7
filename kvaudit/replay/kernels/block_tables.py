"""vLLM's block pool and tables, compiled; `kvaudit.replay.models.block_tables` defines them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch, known_full_blocks
from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.models.kv_groups import GroupKind, StateMode
from kvaudit.replay.models.layout import Layout
from kvaudit.replay.models.paged import UNKNOWN
from kvaudit.replay.models.vllm_releases import FreeOrder, Rules

UNKEYED = -1
NULL = 0
"""Block 0 is the null block, as in vLLM, and the anchor of the ring of free blocks."""
FREE, EMPTY, HELD = 0, 1, 2
"""Counts of the pool: blocks nobody holds, those of them without KV, blocks that have a key."""

_KINDS = (GroupKind.FULL, GroupKind.SLIDING, GroupKind.CHUNKED, GroupKind.MAMBA)
_FULL, _SLIDING, _CHUNKED, _MAMBA = range(4)
_DENSE = -1
_ANY_NUMBER = -1


class Layers(NamedTuple):
    """The groups of a model, and the rules of a release that concern them."""

    block_size: int
    eagle: bool
    retention_tokens: int
    """`_DENSE` keeps all that a hit could use."""
    kind: NDArray[np.int64]
    """By group."""
    tokens: NDArray[np.int64]
    """By group: size of its window or chunk."""
    most_blocks: NDArray[np.int64]
    """By group: what a prompt reserves at most."""
    unkeyed_first: NDArray[np.bool_]
    """By group: whether freed blocks without a key go to the head of the queue."""
    spec_of: NDArray[np.int64]
    """By group: its place among the different kinds, full attention first."""
    members: NDArray[np.int64]
    """The groups of each kind, one kind after the other."""
    member_starts: NDArray[np.int64]
    sparse: bool
    """Whether the release leaves out keys that no hit could use."""
    junctions: bool
    eagle_junctions: bool
    both_replays: bool
    eagle_to_last_block: bool
    eagle_drops_once: bool
    shortens_again: bool
    takes_skipped_hits: bool
    chunks_kept_longer: bool
    aligns: NDArray[np.bool_]
    """By group: whether it keeps states where chunks of a prefill end."""
    states_wait: bool
    states_wait_again: bool
    states_pass_nulls: bool
    sparse_states: bool
    eagle_spares_states: bool
    hits_stay_in_full: bool


class Work(NamedTuple):
    """What is asked, by request, and what it has come to."""

    keys: NDArray[np.int32]
    starts: NDArray[np.int64]
    known: NDArray[np.int64]
    prompt_tokens: NDArray[np.int64]
    tokens: NDArray[np.int64]
    computed: NDArray[np.int64]
    junction: NDArray[np.int64]
    slot: NDArray[np.int64]
    evicted: NDArray[np.int64]
    tables: NDArray[np.int32]
    """By slot and group: the blocks, in order."""
    used: NDArray[np.int64]
    """By slot and group: the length of the table."""
    keyed: NDArray[np.int64]
    """By slot and group: how many blocks were looked at for a key."""
    hit_start: NDArray[np.int64]
    """By kind: where the blocks of the last hit begin; those before are null."""
    hit_end: NDArray[np.int64]
    """By kind: where they end."""
    last_state: NDArray[np.int64]
    """By slot: the last block of a table before it grew last; -1 where it did not."""
    retired: NDArray[np.int64]
    """By slot: how many blocks of state layers were given up or passed over."""
    step: NDArray[np.int64]
    """The number of the step, alone."""
    state_step: NDArray[np.int64]
    """By key: the last step that computed such a state; empty without state layers."""


class Pool(NamedTuple):
    """State of the pool, by block number unless stated."""

    counts: NDArray[np.int64]
    older: NDArray[np.int32]
    newer: NDArray[np.int32]
    """The free queue is a ring through block 0: newer[0] is its head."""
    users: NDArray[np.int32]
    key: NDArray[np.int64]
    copy: NDArray[np.int32]
    """The next block with the same key."""
    first: NDArray[np.int32]
    """By key: the oldest block that has it."""
    last: NDArray[np.int32]
    """By key: the youngest block that has it."""


def layers_of(layout: Layout, rules: Rules) -> Layers:
    """Return the layout as the kernel reads it."""
    different = list(dict.fromkeys(layout.groups))
    different.sort(key=lambda group: group.kind is not GroupKind.FULL)
    members = [[i for i, g in enumerate(layout.groups) if g == kind] for kind in different]
    budget = layout.budget if rules.reserves_by_kind else None
    most = [
        None if budget is None else g.most_blocks(layout.block_size, budget) for g in layout.groups
    ]
    order = rules.free_order
    retention = layout.retention_tokens
    return Layers(
        block_size=layout.block_size,
        eagle=layout.eagle,
        retention_tokens=_DENSE if retention is None else retention,
        kind=np.array([_KINDS.index(g.kind) for g in layout.groups], np.int64),
        tokens=np.array([g.tokens for g in layout.groups], np.int64),
        most_blocks=np.array([_ANY_NUMBER if m is None else m for m in most], np.int64),
        unkeyed_first=np.array(
            [
                order is FreeOrder.UNKEYED_TO_HEAD
                or (rules.unkeyed_windows_first and g.kind is GroupKind.SLIDING)
                for g in layout.groups
            ],
            np.bool_,
        ),
        spec_of=np.array([different.index(g) for g in layout.groups], np.int64),
        members=np.array([i for group in members for i in group], np.int64),
        member_starts=np.cumsum([0, *map(len, members)], dtype=np.int64),
        sparse=rules.retention,
        junctions=rules.junctions,
        eagle_junctions=rules.eagle_junctions,
        both_replays=rules.both_replays,
        eagle_to_last_block=rules.eagle_to_last_block,
        eagle_drops_once=rules.eagle_drops_once,
        shortens_again=rules.shortens_again,
        takes_skipped_hits=rules.takes_skipped_hits,
        chunks_kept_longer=rules.chunks_kept_longer,
        aligns=np.array([g.mode is StateMode.ALIGN for g in layout.groups], np.bool_),
        states_wait=rules.states_wait,
        states_wait_again=rules.states_wait_again,
        states_pass_nulls=rules.states_pass_nulls,
        sparse_states=rules.sparse_states,
        eagle_spares_states=rules.eagle_spares_states,
        hits_stay_in_full=rules.hits_stay_in_full,
    )


def work_of(prompts: PromptBatch, blocks: BlockBatch, layers: Layers, seqs: int) -> Work:
    """Return the requests of a log, none of them begun, and room for the tables of ``seqs``."""
    requests, groups = len(prompts.prompt_tokens), len(layers.kind)
    longest = int((prompts.prompt_tokens + prompts.output_tokens).max(initial=0)) + 1
    states = (int(blocks.keys.max(initial=-1)) + 1) * groups if _MAMBA in layers.kind else 0
    return Work(
        keys=blocks.keys,
        starts=blocks.key_offsets,
        known=known_full_blocks(prompts, blocks, layers.block_size),
        prompt_tokens=prompts.prompt_tokens,
        tokens=prompts.prompt_tokens.copy(),
        computed=np.zeros(requests, np.int64),
        junction=np.zeros(requests, np.int64),
        slot=np.full(requests, -1, np.int64),
        evicted=np.zeros(requests, np.int64),
        tables=np.zeros((seqs, groups, -(-longest // layers.block_size)), np.int32),
        used=np.zeros((seqs, groups), np.int64),
        keyed=np.zeros((seqs, groups), np.int64),
        hit_start=np.zeros(len(layers.member_starts) - 1, np.int64),
        hit_end=np.zeros(len(layers.member_starts) - 1, np.int64),
        last_state=np.full(seqs, -1, np.int64),
        retired=np.zeros(seqs, np.int64),
        step=np.zeros(1, np.int64),
        state_step=np.zeros(states, np.int64),
    )


@compiled
def new_pool(capacity: int, keys: int) -> Pool:
    """Return a pool with every block free, in order."""
    older = np.empty(capacity + 1, np.int32)
    newer = np.empty(capacity + 1, np.int32)
    for block in range(capacity + 1):
        older[block] = block - 1 if block else capacity
        newer[block] = block + 1 if block < capacity else 0
    counts = np.zeros(3, np.int64)
    counts[FREE] = counts[EMPTY] = capacity
    return Pool(
        counts,
        older,
        newer,
        np.zeros(capacity + 1, np.int32),
        np.full(capacity + 1, UNKEYED, np.int64),
        np.zeros(capacity + 1, np.int32),
        np.zeros(keys, np.int32),
        np.zeros(keys, np.int32),
    )


@compiled
def _skipped(layers: Layers, group: int, computed: int) -> int:
    """Return how many blocks the next token of a group does not look at."""
    kind, tokens = layers.kind[group], layers.tokens[group]
    skipped: int = 0
    if kind == _SLIDING:
        skipped = max(0, computed - tokens + 1)
    elif kind == _CHUNKED:
        skipped = computed // tokens * tokens
    elif kind == _MAMBA:
        skipped = max(0, computed - 1)
    return skipped // layers.block_size


@compiled
def keeps_all(layers: Layers, computed: int) -> bool:
    """Whether the next token looks at every block that the one before it looked at."""
    if layers.chunks_kept_longer:
        return False
    for group in range(len(layers.kind)):
        kind, tokens = layers.kind[group], layers.tokens[group]
        if kind == _SLIDING and (computed - tokens + 1) % layers.block_size == 0:
            return False
        if kind == _CHUNKED and computed % tokens == 0:
            return False
        if kind == _MAMBA and (computed - 1) % layers.block_size == 0:
            return False
    return True


@compiled
def _reserved(layers: Layers, group: int, tokens: int) -> int:
    blocks = -(-tokens // layers.block_size)
    if layers.aligns[group]:
        return min(blocks, 1)
    most = layers.most_blocks[group]
    return blocks if most == _ANY_NUMBER else min(blocks, most)


@compiled
def could_fit(layers: Layers, capacity: int, tokens: int) -> bool:
    """Whether so many tokens can be admitted at all, all but the last block being hits."""
    needed = 0
    hit = max(0, tokens - 1) // layers.block_size * layers.block_size
    for group in range(len(layers.kind)):
        own = _reserved(layers, group, tokens) - _skipped(layers, group, hit)
        needed += max(own, 1 if tokens else 0)
    return needed <= capacity


@compiled
def _is_cached(pool: Pool, layers: Layers, work: Work, place: int, spec: int) -> bool:
    """Whether the block at a place of the keys is there in every group of a kind."""
    key = work.keys[place] * len(layers.kind)
    for i in range(layers.member_starts[spec], layers.member_starts[spec + 1]):
        if pool.first[key + layers.members[i]] == NULL:
            return False
    return True


@compiled
def _longest_hit(
    pool: Pool,
    layers: Layers,
    work: Work,
    request: int,
    spec: int,
    limit_tokens: int,
    drop: bool,
) -> int:
    """Find a kind's longest hit, note where it begins and ends, and return its blocks."""
    size = layers.block_size
    group = layers.members[layers.member_starts[spec]]
    kind = layers.kind[group]
    begin = work.starts[request]
    known = min(work.known[request], work.tokens[request] // size)
    limit = limit_tokens // size
    start = end = 0
    if kind == _SLIDING:
        needed = -(-(layers.tokens[group] - 1) // size) + (1 if drop else 0)
        run = 0
        index = limit - 1
        while index >= 0:
            if index < known and _is_cached(pool, layers, work, begin + index, spec):
                run += 1
                if run >= needed:
                    break
            else:
                run = 0
            index -= 1
        start = max(index, 0)
        end = start + run
    elif kind == _MAMBA:
        end = min(limit, known)
        while end > 0 and not _is_cached(pool, layers, work, begin + end - 1, spec):
            end -= 1
        start = max(end - 1, 0)
    else:
        if kind == _CHUNKED:
            start = _skipped(layers, group, limit_tokens)
        end = start
        while end < limit and end < known and _is_cached(pool, layers, work, begin + end, spec):
            end += 1
    if drop and end > 0 and kind != _MAMBA:
        end -= 1
    work.hit_start[spec] = start
    work.hit_end[spec] = end
    return end


@compiled
def lookup(pool: Pool, layers: Layers, work: Work, request: int) -> tuple[int, int]:
    """Find the longest hit that suits every group; return its tokens, and the junction."""
    size = layers.block_size
    specs = len(work.hit_end)
    limit = max(0, work.tokens[request] - 1)
    if len(layers.kind) == 1:
        return _longest_hit(pool, layers, work, request, 0, limit, layers.eagle) * size, 0
    first_full = layers.kind[layers.members[0]] == _FULL
    simple = specs == 2 and first_full and not layers.shortens_again
    dropped = np.zeros(specs, np.bool_)
    length, longest = limit, 0
    rounds = 0
    while True:
        current = length
        for spec in range(specs):
            kind = layers.kind[layers.members[layers.member_starts[spec]]]
            if kind == _FULL and rounds > 0:
                if layers.hits_stay_in_full:
                    current = min(current, work.hit_end[spec] * size)
                continue
            drop = layers.eagle and not (layers.eagle_drops_once and dropped[spec])
            reach = current
            spared = kind == _MAMBA and layers.eagle_spares_states
            if drop and layers.eagle_drops_once and not spared:
                end = work.tokens[request] // size * size if layers.eagle_to_last_block else limit
                reach = min(current + size, end)
            new = _longest_hit(pool, layers, work, request, spec, reach, drop) * size
            if drop:
                dropped[spec] = True
            elif new < current:
                dropped[:] = False
            current = new
            longest = max(longest, current)
        rounds += 1
        if current >= length:
            break
        length = current
        if simple:
            break
    if first_full:
        work.hit_end[0] = min(work.hit_end[0], length // size)
    return length, longest if longest > length else 0


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
            blocks = _reserved(layers, group, end)
        if not admits:
            needed += max(blocks - work.used[work.slot[request], group], 0)
            continue
        skipped = 0 if layers.takes_skipped_hits else _skipped(layers, group, computed)
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
        skipped = 0 if layers.takes_skipped_hits else _skipped(layers, group, hit_tokens)
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
def _forget(pool: Pool, block: int) -> None:
    """Take the block from those that have its key."""
    key = pool.key[block]
    pool.key[block] = UNKEYED
    pool.counts[HELD] -= 1
    if key == UNKNOWN:
        return
    if pool.first[key] == block:
        pool.first[key] = pool.copy[block]
        return
    before = pool.first[key]
    while pool.copy[before] != block:
        before = pool.copy[before]
    pool.copy[before] = pool.copy[block]
    if pool.last[key] == block:
        pool.last[key] = before


@compiled
def _give_back(
    pool: Pool,
    table: NDArray[np.int32],
    start: int,
    end: int,
    unkeyed_first: bool,
    to_null: bool,
    passes: bool,
) -> None:
    """Give up a table's blocks from ``start`` to ``end``, the last first.

    With ``to_null`` what is given up becomes null, and unless it ``passes`` null blocks the
    first of them is where it stops.
    """
    older, newer = pool.older, pool.newer
    head = 0  # the block last put at the head by this call; the next one follows it
    for index in range(end - 1, start - 1, -1):
        block = table[index]
        if block == NULL:
            if to_null and not passes:
                return
            continue
        if to_null:
            table[index] = NULL
        pool.users[block] -= 1
        if pool.users[block] > 0:
            continue
        pool.counts[FREE] += 1
        keyed = pool.key[block] != UNKEYED
        if not keyed:
            pool.counts[EMPTY] += 1
        before = older[0] if keyed or not unkeyed_first else head
        after = newer[before]
        newer[before] = block
        older[block] = before
        newer[block] = after
        older[after] = block
        if not keyed and unkeyed_first:
            head = block


@compiled
def release(pool: Pool, layers: Layers, work: Work, request: int) -> None:
    """Take all blocks from a request, and its slot."""
    slot = work.slot[request]
    for group in range(len(layers.kind)):
        table, end = work.tables[slot, group], work.used[slot, group]
        _give_back(pool, table, 0, end, layers.unkeyed_first[group], False, False)
        work.used[slot, group] = work.keyed[slot, group] = 0
    work.slot[request] = -1
    work.computed[request] = 0


@compiled
def _is_kept(layers: Layers, group: int, index: int, prompt_tokens: int, junction: int) -> bool:
    """Whether a full block gets a key."""
    state = layers.kind[group] == _MAMBA
    if not layers.sparse or not (state or layers.kind[group] == _SLIDING):
        return True
    size, retention = layers.block_size, layers.retention_tokens
    if state and (not layers.sparse_states or retention == _DENSE):
        return True
    eagle = 1 if layers.eagle and not state else 0
    needed = 1 if state else -(-(layers.tokens[group] - 1) // size) + eagle
    segment = 1 if retention == _DENSE else retention // size
    if segment > 0:
        if needed >= segment:
            return True
        if index >= eagle and (index - eagle) % segment >= segment - needed:
            return True
    if retention == _DENSE:
        return False
    for number in range(4):
        if number == 0:
            boundary = prompt_tokens - 1
            if layers.eagle and layers.both_replays:
                boundary = max((prompt_tokens - 1) // size * size - size, 0)
        elif number == 1:
            if not (layers.eagle and layers.both_replays):
                continue
            boundary = max(prompt_tokens // size * size - size, 0)
        else:
            if not layers.junctions or junction == 0:
                continue
            boundary = junction
            if number == 3:
                if not (layers.eagle and layers.eagle_junctions):
                    continue
                boundary = junction - size
        last = boundary // size + eagle
        if last - needed <= index < last:
            return True
    return False


@compiled
def _hold_back(layers: Layers, work: Work, request: int, group: int, end: int) -> None:
    """Let the last state of a prompt that can be hit count as computed by this step, too."""
    size, eagle = layers.block_size, 1 if layers.eagle else 0
    if len(layers.kind) > 1 and eagle == 0:
        end = end // size * size
    last = (work.prompt_tokens[request] - 1 + eagle) // size * size - eagle * size
    index = last // size - 1
    if end != last or last <= 0 or index >= work.known[request]:
        return
    if work.tables[work.slot[request], group, index] != NULL:
        key = work.keys[work.starts[request] + index] * len(layers.kind) + group
        work.state_step[key] = work.step[0]


@compiled
def _hits_unfinished_state(layers: Layers, work: Work, request: int) -> bool:
    """Whether a state of the hit looked up last is one that this step computes."""
    groups = len(layers.kind)
    for group in range(groups):
        length = work.hit_end[layers.spec_of[group]]
        if layers.kind[group] == _MAMBA and length > 0:
            key = work.keys[work.starts[request] + length - 1] * groups + group
            if work.state_step[key] == work.step[0]:
                return True
    return False


@compiled
def _drop_skipped(pool: Pool, layers: Layers, work: Work, request: int, computed: int) -> None:
    """Give up the blocks that the request's next token does not look at."""
    own = work.slot[request]
    for group in range(len(layers.kind)):
        skipped = _skipped(layers, group, computed)
        if skipped == 0:
            continue
        table, first = work.tables[own, group], layers.unkeyed_first[group]
        if layers.chunks_kept_longer and layers.kind[group] == _CHUNKED:
            keyed = work.keyed[own, group]
            skipped = min(skipped, keyed - 1) if keyed else skipped
        skipped = min(skipped, work.used[own, group])
        aligns = layers.aligns[group]
        passes = aligns and layers.states_pass_nulls
        _give_back(pool, table, work.retired[own] if passes else 0, skipped, first, True, passes)
        last = work.last_state[own]
        if aligns and 0 <= last < -(-computed // layers.block_size) - 1:
            _give_back(pool, table, last, last + 1, first, True, True)
    work.retired[own] = max(work.retired[own], max(0, computed - 1) // layers.block_size)


@compiled
def _key_blocks(pool: Pool, layers: Layers, work: Work, request: int, end: int) -> None:
    """Give keys to the blocks that are full now, but for those that no hit could use."""
    full = end // layers.block_size
    slot, groups = work.slot[request], len(layers.kind)
    for group in range(groups):
        state = layers.kind[group] == _MAMBA
        if layers.aligns[group] and layers.states_wait_again:
            _hold_back(layers, work, request, group, end)
        for index in range(work.keyed[slot, group], full):
            block = work.tables[slot, group, index]
            if block == NULL or not _is_kept(
                layers, group, index, work.prompt_tokens[request], work.junction[request]
            ):
                continue
            pool.counts[HELD] += 1
            if index >= work.known[request]:
                pool.key[block] = UNKNOWN
                continue
            key = work.keys[work.starts[request] + index] * groups + group
            if state:
                work.state_step[key] = work.step[0]
            pool.key[block] = key
            pool.copy[block] = NULL
            if pool.first[key] == NULL:
                pool.first[key] = block
            else:
                pool.copy[pool.last[key]] = block
            pool.last[key] = block
        work.keyed[slot, group] = max(work.keyed[slot, group], full)


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
    if admits and layers.states_wait and _hits_unfinished_state(layers, work, request):
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
                _forget(pool, block)
                work.evicted[request] += 1
        work.used[own, group] = max(work.used[own, group], blocks)
    _key_blocks(pool, layers, work, request, end)
    return True
