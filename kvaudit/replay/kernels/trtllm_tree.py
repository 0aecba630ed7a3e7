"""TensorRT-LLM's search tree and free queues, compiled.

Blocks are numbered; a root is the number of its namespace below `NOBODY`. Children of a block that
start with the same token stand in one chain, in the order in which they were stored, found by a
hash table over (parent, token); all children stand in a list of their own as well.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import compiled, inner
from kvaudit.replay.kernels.growth import grown
from kvaudit.replay.models.trtllm_retention import MAX_PRIORITY

NOBODY = -1
BLOCKS, MADE, MADE_HOST, FREED, FREED_HOST, HELD, HELD_HOST, PEAK_HOST, SLOTS = range(9)
"""Places in ``totals``: blocks ever numbered; ever in use, then free, then in the tree, by level;
the most that the host held; entries of the hash table."""
COPY, LEAF, OFF = range(3)
"""What happens to a block of which only a part is asked for, as in `PartialReuse`."""
NEVER = np.iinfo(np.int64).max
_EMPTY = np.iinfo(np.int64).min
_OF_THE_POOL = ("totals", "text", "heads", "slot_key", "slot_head", "slot_tail")


class Pool(NamedTuple):
    """State of the pools, by block unless stated."""

    totals: NDArray[np.int64]
    text: NDArray[np.int32]
    """Shape (blocks, tokens of a block)."""
    length: NDArray[np.int32]
    """Tokens of the text."""
    parent: NDArray[np.int32]
    """`NOBODY` for a block that is not in the tree."""
    children: NDArray[np.int32]
    """The one that heads the list."""
    after: NDArray[np.int32]
    """The next and the one before it in its parent's list."""
    before: NDArray[np.int32]
    same_after: NDArray[np.int32]
    """The same among those that start with the same token."""
    same_before: NDArray[np.int32]
    host: NDArray[np.bool_]
    priority: NDArray[np.int32]
    duration: NDArray[np.int64]
    """Microseconds that its priority lasts from its next release on."""
    until: NDArray[np.int64]
    """When its priority falls; `NEVER` for one that is in use or keeps it."""
    keyed: NDArray[np.bool_]
    free_after: NDArray[np.int32]
    """The same in its queue of free blocks."""
    free_before: NDArray[np.int32]
    heads: NDArray[np.int32]
    """First and last block of each queue, shape (2, levels, priorities)."""
    slot_key: NDArray[np.int64]
    """Hash table, by slot: parent and token, and the first and last of their chain."""
    slot_head: NDArray[np.int32]
    slot_tail: NDArray[np.int32]


def empty_pool(block_size: int) -> Pool:
    """Return a pool of which no block was ever used."""
    none, times = np.empty(0, np.int32), np.empty(0, np.int64)
    flags = np.empty(0, np.bool_)
    return Pool(
        totals=np.zeros(9, np.int64),
        text=np.empty((0, block_size), np.int32),
        **{
            name: none.copy()
            for name in (
                *("length", "parent", "children", "after", "before", "same_after"),
                *("same_before", "priority", "free_after", "free_before"),
            )
        },
        duration=times,
        until=times.copy(),
        host=flags,
        keyed=flags.copy(),
        heads=np.full((2, 2, MAX_PRIORITY + 1), NOBODY, np.int32),
        slot_key=np.full(16, _EMPTY, np.int64),
        slot_head=np.full(16, NOBODY, np.int32),
        slot_tail=np.full(16, NOBODY, np.int32),
    )


def roomy(pool: Pool, blocks: int, stored: int) -> Pool:
    """Return the pool with room for ``blocks`` blocks and for ``stored`` more to be stored."""
    text = pool.text
    if blocks > len(text):
        text = np.empty((blocks + blocks // 2, text.shape[1]), np.int32)
        text[: len(pool.text)] = pool.text
    by_block = {
        name: grown(getattr(pool, name), blocks)
        for name in Pool._fields
        if name not in _OF_THE_POOL
    }
    pool = pool._replace(text=text, **by_block)
    needed = 2 * (int(pool.totals[SLOTS]) + stored)
    if needed <= len(pool.slot_key):
        return pool
    size = 1 << int(2 * needed).bit_length()
    larger = pool._replace(
        slot_key=np.full(size, _EMPTY, np.int64),
        slot_head=np.full(size, NOBODY, np.int32),
        slot_tail=np.full(size, NOBODY, np.int32),
    )
    _move_slots(pool, larger)
    return larger


@compiled
def _move_slots(pool: Pool, larger: Pool) -> None:
    """Put the chains that are not empty into a larger table."""
    larger.totals[SLOTS] = 0
    for old in range(len(pool.slot_key)):
        if pool.slot_head[old] != NOBODY:
            slot = _slot(larger, pool.slot_key[old])
            larger.slot_key[slot] = pool.slot_key[old]
            larger.slot_head[slot] = pool.slot_head[old]
            larger.slot_tail[slot] = pool.slot_tail[old]
            larger.totals[SLOTS] += 1


@inner
def _chain(parent: int, token: int) -> int:
    return (parent << 32) | (token & 0xFFFFFFFF)


@inner
def _slot(pool: Pool, key: int) -> int:
    """Return the slot of a chain, or the empty one where it would stand."""
    mask = len(pool.slot_key) - 1
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    at = int(mixed >> np.uint64(32)) & mask
    while pool.slot_key[at] != _EMPTY and pool.slot_key[at] != key:
        at = (at + 1) & mask
    return at


@inner
def best(pool: Pool, parent: int, part: NDArray[np.int32], partial: int) -> tuple[int, int]:
    """Return the child that shares most with the part, and how many tokens, like the reference."""
    found, most = NOBODY, 0
    if len(part) == 0:
        return found, most
    block = pool.slot_head[_slot(pool, _chain(parent, part[0]))]
    while block != NOBODY:
        limit = min(pool.length[block], len(part))
        shared = 1
        while shared < limit and pool.text[block, shared] == part[shared]:
            shared += 1
        if shared == len(part) == pool.length[block]:
            return block, shared
        if shared > most and (partial == COPY or (partial == LEAF and _is_leaf(pool, block))):
            found, most = block, shared
        block = pool.same_after[block]
    return found, most


@inner
def _is_leaf(pool: Pool, block: int) -> bool:
    return bool(pool.children[block] == NOBODY)


@inner
def attach(pool: Pool, block: int, parent: int, part: NDArray[np.int32]) -> None:
    """Store a block under its parent."""
    for index in range(len(part)):
        pool.text[block, index] = part[index]
    pool.length[block] = len(part)
    pool.parent[block] = parent
    pool.keyed[block] = True
    pool.before[block] = NOBODY
    pool.after[block] = NOBODY
    if parent >= 0:
        first = pool.children[parent]
        pool.after[block] = first
        if first != NOBODY:
            pool.before[first] = block
        pool.children[parent] = block
    key = _chain(parent, part[0])
    slot = _slot(pool, key)
    if pool.slot_key[slot] == _EMPTY:
        pool.slot_key[slot] = key
        pool.totals[SLOTS] += 1
    last = pool.slot_tail[slot]
    pool.same_before[block], pool.same_after[block] = last, NOBODY
    if pool.slot_head[slot] == NOBODY:
        pool.same_before[block] = NOBODY
        pool.slot_head[slot] = block
    else:
        pool.same_after[last] = block
    pool.slot_tail[slot] = block
    pool.totals[HELD + int(pool.host[block])] += 1


@inner
def detach(pool: Pool, block: int) -> None:
    """Take a block out of the tree, if it is in it; nothing may continue it."""
    parent = pool.parent[block]
    if parent == NOBODY:
        return
    before, after = pool.before[block], pool.after[block]
    if before != NOBODY:
        pool.after[before] = after
    elif parent >= 0:
        pool.children[parent] = after
    if after != NOBODY:
        pool.before[after] = before
    slot = _slot(pool, _chain(parent, pool.text[block, 0]))
    before, after = pool.same_before[block], pool.same_after[block]
    if before != NOBODY:
        pool.same_after[before] = after
    else:
        pool.slot_head[slot] = after
    if after != NOBODY:
        pool.same_before[after] = before
    else:
        pool.slot_tail[slot] = before
    pool.parent[block] = NOBODY
    pool.totals[HELD + int(pool.host[block])] -= 1


@inner
def detach_all(pool: Pool, block: int) -> None:
    """Take a block and what continues it out of the tree."""
    at = block
    while True:
        while pool.children[at] != NOBODY:
            at = pool.children[at]
        parent = pool.parent[at]
        detach(pool, at)
        if at == block:
            return
        at = parent
