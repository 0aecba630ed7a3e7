"""The longest hit that suits every group of a model's layers, compiled."""

from __future__ import annotations

import numpy as np

from kvaudit.replay.kernels.block_pool import NULL, Pool
from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.kernels.kv_layers import (
    CHUNKED,
    FULL,
    MAMBA,
    SLIDING,
    Layers,
    Work,
    skipped_blocks,
)


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
    if kind == SLIDING:
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
    elif kind == MAMBA:
        end = min(limit, known)
        while end > 0 and not _is_cached(pool, layers, work, begin + end - 1, spec):
            end -= 1
        start = max(end - 1, 0)
    else:
        if kind == CHUNKED:
            start = skipped_blocks(layers, group, limit_tokens)
        end = start
        while end < limit and end < known and _is_cached(pool, layers, work, begin + end, spec):
            end += 1
    if drop and end > 0 and kind != MAMBA:
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
    first_full = layers.kind[layers.members[0]] == FULL
    simple = specs == 2 and first_full and not layers.shortens_again
    dropped = np.zeros(specs, np.bool_)
    length, longest = limit, 0
    rounds = 0
    while True:
        current = length
        for spec in range(specs):
            kind = layers.kind[layers.members[layers.member_starts[spec]]]
            if kind == FULL and rounds > 0:
                if layers.hits_stay_in_full:
                    current = min(current, work.hit_end[spec] * size)
                continue
            drop = layers.eagle and not (layers.eagle_drops_once and dropped[spec])
            reach = current
            spared = kind == MAMBA and layers.eagle_spares_states
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
