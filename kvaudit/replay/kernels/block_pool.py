"""vLLM's pool of blocks, compiled: a ring of free ones, and the blocks that have each key."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.models.paged import UNKNOWN

UNKEYED = -1
NULL = 0
"""Block 0 is the null block, as in vLLM, and the anchor of the ring of free blocks."""
FREE, EMPTY, HELD = 0, 1, 2
"""Counts of the pool: blocks nobody holds, those of them without KV, blocks that have a key."""


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
def forget(pool: Pool, block: int) -> None:
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
def give_back(
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
