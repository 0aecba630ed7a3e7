"""Block keys from a compressed radix tree: the compiled interner.

Nothing is hashed or stored a block. A node is an edge: a run of units that no prompt has yet
parted within. The keys of the blocks that end on an edge are consecutive, so a node holds
only the first of them, and a prompt is numbered by walking a handful of nodes and comparing
runs of units. When a prompt parts from an edge in the middle, the edge is cut in two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.batches import offsets_of
from kvaudit.replay.blocks import NO_KEY, BlockBatch
from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.kernels.growth import grown

_ABSENT = -1


class _Tree(NamedTuple):
    """The arrays of the tree; what is used of each is counted in ``used``."""

    used: NDArray[np.int64]
    """Nodes, units in the arena, keys given out."""
    arena: NDArray[np.int32]
    """The units of all edges."""
    start: NDArray[np.int64]
    """Where a node's edge starts in the arena."""
    length: NDArray[np.int64]
    first_key: NDArray[np.int32]
    """Key of the first block that ends on the edge."""
    tail_key: NDArray[np.int32]
    """Key of the partial block that ends where the edge ends, or `_ABSENT`."""
    roots: NDArray[np.int32]
    """Root node of each namespace."""
    slot_key: NDArray[np.int64]
    """Open addressing: (node, first unit of the edge below it) packed into one number."""
    slot_node: NDArray[np.int32]


class _Found(NamedTuple):
    """Where the kernel writes; all but the first are fields of `BlockBatch`."""

    seen_units: NDArray[np.int64]
    """Units of prompt and output that were seen before."""
    keys: NDArray[np.int32]
    known_before: NDArray[np.int64]
    prompt_tails: NDArray[np.int32]
    end_tails: NDArray[np.int32]


class RadixInterner:
    """`kvaudit.replay.blocks.Interner` over a radix tree.

    Grows with distinct text only: 4 bytes a distinct unit, and up to 80 bytes a node; a
    request adds one or two nodes, and up to four with tails.
    """

    def __init__(self, block_units: int, *, tails: bool = False) -> None:
        """Number blocks of ``block_units``, and partial last ones too with ``tails``."""
        self.block_units = block_units
        self._tails = tails
        self._tree = _Tree(
            used=np.zeros(3, np.int64),
            arena=np.empty(0, np.int32),
            start=np.empty(0, np.int64),
            length=np.empty(0, np.int64),
            first_key=np.empty(0, np.int32),
            tail_key=np.empty(0, np.int32),
            roots=np.empty(0, np.int32),
            slot_key=np.empty(0, np.int64),
            slot_node=np.empty(0, np.int32),
        )

    def intern(self, prompts: PromptBatch) -> BlockBatch:
        """Number the blocks of the next batch of the log."""
        requests = len(prompts.prompt_units)
        key_offsets = offsets_of(np.diff(prompts.offsets) // self.block_units)
        self._make_room(prompts)
        tails = requests if self._tails else 0
        found = _Found(
            seen_units=np.empty(requests, np.int64),
            keys=np.empty(key_offsets[-1], np.int32),
            known_before=np.empty(requests + 1, np.int64),
            prompt_tails=np.empty(tails, np.int32),
            end_tails=np.empty(tails, np.int32),
        )
        _intern(
            self._tree,
            prompts.units,
            prompts.offsets,
            prompts.prompt_units,
            prompts.namespaces,
            self.block_units,
            found,
        )
        return BlockBatch(
            block_units=self.block_units,
            shared_units=np.minimum(found.seen_units, prompts.prompt_units),
            new_units=np.diff(prompts.offsets) - found.seen_units,
            keys=found.keys,
            key_offsets=key_offsets,
            known_before=found.known_before,
            prompt_tails=found.prompt_tails if self._tails else None,
            end_tails=found.end_tails if self._tails else None,
        )

    def _make_room(self, prompts: PromptBatch) -> None:
        """Grow the arrays so that the batch fits, whatever is in it."""
        tree = self._tree
        namespaces = int(prompts.namespaces.max(initial=-1)) + 1
        # A request makes at most one leaf and one cut for its prompt, and again for its
        # output where their border must be one of nodes.
        nodes = int(tree.used[0]) + namespaces + 4 * len(prompts.prompt_units)
        tree = tree._replace(
            arena=grown(tree.arena, int(tree.used[1]) + len(prompts.units)),
            start=grown(tree.start, nodes),
            length=grown(tree.length, nodes),
            first_key=grown(tree.first_key, nodes),
            tail_key=grown(tree.tail_key, nodes),
            roots=grown(tree.roots, namespaces, fill=_ABSENT),
        )
        if 2 * nodes > len(tree.slot_node):
            slots = 1 << (2 * nodes).bit_length()
            larger = tree._replace(
                slot_key=np.empty(slots, np.int64),
                slot_node=np.full(slots, _ABSENT, np.int32),
            )
            _refill(tree, larger)
            tree = larger
        self._tree = tree


@compiled
def _slot(slot_key: NDArray[np.int64], slot_node: NDArray[np.int32], node: int, unit: int) -> int:
    """Return the slot of the edge below ``node`` that starts with ``unit``, or a free one."""
    key = (np.int64(node) << 32) | np.int64(np.uint32(unit))
    mask = len(slot_node) - 1
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64(mixed >> np.uint64(24)) & mask
    while slot_node[slot] != _ABSENT and slot_key[slot] != key:
        slot = (slot + 1) & mask
    slot_key[slot] = key
    return int(slot)


@compiled
def _refill(tree: _Tree, larger: _Tree) -> None:
    """Enter all edges into a larger table."""
    for slot in range(len(tree.slot_node)):
        node = tree.slot_node[slot]
        if node != _ABSENT:
            key = tree.slot_key[slot]
            unit = np.int32(np.uint32(key))
            larger.slot_node[_slot(larger.slot_key, larger.slot_node, key >> 32, unit)] = node


@compiled
def _new_node(tree: _Tree, start: int, length: int, first_key: int) -> int:
    node = int(tree.used[0])
    tree.used[0] += 1
    tree.start[node] = start
    tree.length[node] = length
    tree.first_key[node] = first_key
    tree.tail_key[node] = _ABSENT
    return node


@compiled
def _common(a: NDArray[np.int32], a_at: int, b: NDArray[np.int32], b_at: int, limit: int) -> int:
    """Return how many of the next ``limit`` units of ``a`` and ``b`` agree."""
    # Strides of 64 without an exit inside, and unsigned positions, compile to vector
    # instructions; the obvious loop does not.
    p, q, end = np.uint64(a_at), np.uint64(b_at), np.uint64(limit)
    done, stride, one = np.uint64(0), np.uint64(64), np.uint64(1)
    while done + stride <= end:
        different = np.int32(0)
        for k in range(stride):
            different |= a[p + done + np.uint64(k)] ^ b[q + done + np.uint64(k)]
        if different != 0:
            break
        done += stride
    while done < end and a[p + done] == b[q + done]:
        done += one
    return int(np.int64(done))  # a bare int() keeps it unsigned


@compiled
def _cut(tree: _Tree, slot: int, node: int, at: int, depth: int, block_units: int) -> int:
    """Cut the edge of ``node``, which starts at ``depth``, after ``at`` units.

    A new node takes the upper part and the place in the tree; the old one keeps the lower
    part, its children and the tail at its end.
    """
    upper = _new_node(tree, tree.start[node], at, tree.first_key[node])
    tree.slot_node[slot] = upper
    tree.start[node] += at
    tree.length[node] -= at
    tree.first_key[node] += (depth + at) // block_units - depth // block_units
    unit = tree.arena[tree.start[node]]
    tree.slot_node[_slot(tree.slot_key, tree.slot_node, upper, unit)] = node
    return int(upper)


@compiled
def _tail(tree: _Tree, node: int) -> int:
    """Return the key of the partial block that ends at the end of ``node``."""
    if tree.tail_key[node] == _ABSENT:
        tree.tail_key[node] = tree.used[2]
        tree.used[2] += 1
    return int(tree.tail_key[node])


@compiled
def _intern(
    tree: _Tree,
    units: NDArray[np.int32],
    offsets: NDArray[np.int64],
    prompt_units: NDArray[np.int64],
    namespaces: NDArray[np.int32],
    block_units: int,
    found: _Found,
) -> None:
    tails = len(found.prompt_tails) > 0
    written = 0
    for request in range(len(prompt_units)):
        found.known_before[request] = tree.used[2]
        begin = offsets[request]
        end = offsets[request + 1] - begin
        prompt = prompt_units[request]
        if tree.roots[namespaces[request]] == _ABSENT:
            tree.roots[namespaces[request]] = _new_node(tree, 0, 0, 0)
        node = np.int64(tree.roots[namespaces[request]])
        seen = end
        depth = np.int64(0)
        # Tails need a border of nodes where the prompt ends and where the request ends.
        for part in range(2 if tails else 1):
            stop = prompt if tails and part == 0 else end
            while depth < stop:
                slot = _slot(tree.slot_key, tree.slot_node, node, units[begin + depth])
                node = np.int64(tree.slot_node[slot])
                if node == _ABSENT:
                    node = _new_node(tree, tree.used[1], stop - depth, tree.used[2])
                    tree.slot_node[slot] = node
                    for k in range(depth, stop):
                        tree.arena[tree.used[1] + k - depth] = units[begin + k]
                    tree.used[1] += stop - depth
                    tree.used[2] += stop // block_units - depth // block_units
                    seen = min(seen, depth)
                    step = stop - depth
                else:
                    limit = min(tree.length[node], stop - depth)
                    step = _common(tree.arena, tree.start[node], units, begin + depth, limit)
                    if step < tree.length[node] and (tails or depth + step < stop):
                        node = _cut(tree, slot, node, step, depth, block_units)
                blocks = (depth + step) // block_units - depth // block_units
                for k in range(blocks):
                    found.keys[written + k] = tree.first_key[node] + k
                written += blocks
                depth += step
            if tails:
                tail = _tail(tree, node) if depth % block_units else NO_KEY
                if part == 0:
                    found.prompt_tails[request] = tail
                else:
                    found.end_tails[request] = tail
        found.seen_units[request] = seen
    found.known_before[len(prompt_units)] = tree.used[2]
