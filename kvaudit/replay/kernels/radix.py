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
_PIECE = 1 << 21
"""Keys: 8 MiB, which the system backs with large pages."""


class _Tree(NamedTuple):
    """The arrays of the tree; what is used of each is counted in ``used``."""

    used: NDArray[np.int64]
    """Nodes, units in the arena, keys given out."""
    arena: NDArray[np.int32]
    """The units of all edges."""
    nodes: NDArray[np.int64]
    """One row a node, so that a visit waits for memory once."""
    roots: NDArray[np.int32]
    """Root node of each namespace."""
    slots: NDArray[np.int64]
    """Open addressing. A row is (node, first unit of the edge below it) packed into one number,
    and the node at the end of that edge or `_ABSENT`."""


_START, _LENGTH, _FIRST_KEY, _TAIL_KEY, _CHILD, _UNIT = range(6)
"""Columns of ``nodes``: where the edge starts in the arena, and how long it is; the key of the
first block that ends on it; that of the partial block that ends where it does, or `_ABSENT`; the
child that was visited last, or `_ABSENT`, and the first unit on the way to it."""
_COLUMNS = 6


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

    Grows with distinct text only: 4 bytes a distinct unit, and up to 112 bytes a node; a
    request adds one or two nodes, and up to four with tails.
    """

    def __init__(self, block_units: int, *, tails: bool = False) -> None:
        """Number blocks of ``block_units``, and partial last ones too with ``tails``."""
        self.block_units = block_units
        self._tails = tails
        self._keys = np.empty(0, np.int32)
        self._tree = _Tree(
            used=np.zeros(3, np.int64),
            arena=np.empty(0, np.int32),
            nodes=np.empty((0, _COLUMNS), np.int64),
            roots=np.empty(0, np.int32),
            slots=np.full((1, 2), _ABSENT, np.int64),
        )

    def intern(self, prompts: PromptBatch) -> BlockBatch:
        """Number the blocks of the next batch of the log."""
        requests = len(prompts.prompt_units)
        key_offsets = offsets_of(np.diff(prompts.offsets) // self.block_units)
        self._make_room(prompts)
        tails = requests if self._tails else 0
        found = _Found(
            seen_units=np.empty(requests, np.int64),
            keys=self._cut_keys(int(key_offsets[-1])),
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

    def _cut_keys(self, count: int) -> NDArray[np.int32]:
        """Return room for ``count`` keys, cut from a large piece.

        A pass that keeps the keys of all batches would else ask the system for each of them.
        """
        if count > len(self._keys):
            self._keys = np.empty(max(count, _PIECE), np.int32)
        keys, self._keys = self._keys[:count], self._keys[count:]
        return keys

    def _make_room(self, prompts: PromptBatch) -> None:
        """Grow the arrays so that the batch fits, whatever is in it."""
        tree = self._tree
        namespaces = int(prompts.namespaces.max(initial=-1)) + 1
        # A request makes at most one leaf and one cut for its prompt, and again for its
        # output where their border must be one of nodes.
        most = 4 if self._tails else 2
        nodes = int(tree.used[0]) + namespaces + most * len(prompts.prompt_units)
        tree = tree._replace(
            arena=grown(tree.arena, int(tree.used[1]) + len(prompts.units)),
            nodes=grown(tree.nodes, nodes),
            roots=grown(tree.roots, namespaces, fill=_ABSENT),
        )
        if 2 * nodes > len(tree.slots):
            slots = 1 << (2 * nodes).bit_length()
            larger = tree._replace(slots=np.full((slots, 2), _ABSENT, np.int64))
            _refill(tree, larger)
            tree = larger
        self._tree = tree


@compiled
def _full(units: int, block_units: int) -> int:
    """Return how many blocks are full; one division takes as long as all else of a small node."""
    return units if block_units == 1 else int(np.int64(np.uint32(units) // np.uint32(block_units)))


@compiled
def _slot(slots: NDArray[np.int64], node: int, unit: int) -> int:
    """Return the slot of the edge below ``node`` that starts with ``unit``, or a free one."""
    key = (np.int64(node) << 32) | np.int64(np.uint32(unit))
    mask = np.uint64(len(slots) - 1)
    slot = ((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(24)) & mask
    while slots[slot, 1] != _ABSENT and slots[slot, 0] != key:
        slot = (slot + np.uint64(1)) & mask
    slots[slot, 0] = key
    return int(np.int64(slot))


@compiled
def _refill(tree: _Tree, larger: _Tree) -> None:
    """Enter all edges into a larger table."""
    for slot in range(len(tree.slots)):
        key, node = tree.slots[slot]
        if node != _ABSENT:
            unit = np.int32(np.uint32(key))
            larger.slots[_slot(larger.slots, key >> 32, unit), 1] = node


@compiled
def _new_node(tree: _Tree, start: int, length: int, first_key: int) -> int:
    node = int(tree.used[0])
    tree.used[0] += 1
    row = tree.nodes[node]
    row[_START] = start
    row[_LENGTH] = length
    row[_FIRST_KEY] = first_key
    row[_TAIL_KEY] = _ABSENT
    row[_CHILD] = _ABSENT
    return node


@compiled
def _common(a: NDArray[np.int32], a_at: int, b: NDArray[np.int32], b_at: int, limit: int) -> int:
    """Return how many of the next ``limit`` units of ``a`` and ``b`` agree."""
    # Strides without an exit inside, and unsigned positions, compile to vector instructions; the
    # obvious loop does not. The last stride goes back over units that are known to agree.
    p, q, end = np.uint64(a_at), np.uint64(b_at), np.uint64(limit)
    done, one = np.uint64(0), np.uint64(1)
    for stride in (np.uint64(64), np.uint64(8)):
        while end >= stride and done < end:
            at = min(done, end - stride)
            different = np.int32(0)
            for k in range(stride):
                different |= a[p + at + np.uint64(k)] ^ b[q + at + np.uint64(k)]
            if different != 0:
                break
            done = at + stride
    while done < end and a[p + done] == b[q + done]:
        done += one
    return int(np.int64(done))  # a bare int() keeps it unsigned


@compiled
def _cut(tree: _Tree, slot: int, node: int, at: int, depth: int, block_units: int) -> int:
    """Cut the edge of ``node``, which starts at ``depth``, after ``at`` units.

    A new node takes the upper part and the place in the tree; the old one keeps the lower
    part, its children and the tail at its end.
    """
    row = tree.nodes[node]
    upper = _new_node(tree, row[_START], at, row[_FIRST_KEY])
    tree.slots[slot, 1] = upper
    row[_START] += at
    row[_LENGTH] -= at
    row[_FIRST_KEY] += _full(depth + at, block_units) - _full(depth, block_units)
    unit = tree.arena[row[_START]]
    tree.slots[_slot(tree.slots, upper, unit), 1] = node
    return int(upper)


@compiled
def _tail(tree: _Tree, node: int) -> int:
    """Return the key of the partial block that ends at the end of ``node``."""
    if tree.nodes[node, _TAIL_KEY] == _ABSENT:
        tree.nodes[node, _TAIL_KEY] = tree.used[2]
        tree.used[2] += 1
    return int(tree.nodes[node, _TAIL_KEY])


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
    used, arena, nodes, roots, slots = tree
    tails = len(found.prompt_tails) > 0
    keys = found.keys
    written = np.uint64(0)
    for request in range(len(prompt_units)):
        found.known_before[request] = used[2]
        begin = offsets[request]
        end = offsets[request + 1] - begin
        prompt = prompt_units[request]
        if roots[namespaces[request]] == _ABSENT:
            roots[namespaces[request]] = _new_node(tree, 0, 0, 0)
        node = np.int64(roots[namespaces[request]])
        seen = end
        depth = full = np.int64(0)
        # Tails need a border of nodes where the prompt ends and where the request ends.
        for part in range(2 if tails else 1):
            stop = prompt if tails and part == 0 else end
            while depth < stop:
                above, unit = node, units[begin + depth]
                slot = np.int64(_ABSENT)
                node = nodes[above, _CHILD]
                if node == _ABSENT or nodes[above, _UNIT] != unit:
                    slot = _slot(slots, above, unit)
                    node = slots[slot, 1]
                if node == _ABSENT:
                    node = _new_node(tree, used[1], stop - depth, used[2])
                    slots[slot, 1] = node
                    arena[used[1] : used[1] + stop - depth] = units[begin + depth : begin + stop]
                    used[1] += stop - depth
                    used[2] += _full(stop, block_units) - full
                    seen = min(seen, depth)
                    step = stop - depth
                else:
                    limit = min(nodes[node, _LENGTH], stop - depth)
                    step = _common(arena, nodes[node, _START], units, begin + depth, limit)
                    if step < nodes[node, _LENGTH] and (tails or depth + step < stop):
                        if slot == _ABSENT:
                            slot = _slot(slots, above, unit)
                        node = _cut(tree, slot, node, step, depth, block_units)
                nodes[above, _CHILD] = node
                nodes[above, _UNIT] = unit
                depth += step
                blocks = np.uint64(_full(depth, block_units) - full)
                full += np.int64(blocks)
                key = np.int32(nodes[node, _FIRST_KEY])
                for k in range(blocks):
                    keys[written + k] = key + np.int32(k)
                written += blocks
            if tails:
                tail = _tail(tree, node) if depth % block_units else NO_KEY
                if part == 0:
                    found.prompt_tails[request] = tail
                else:
                    found.end_tails[request] = tail
        found.seen_units[request] = seen
    found.known_before[len(prompt_units)] = used[2]
