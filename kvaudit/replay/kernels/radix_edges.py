"""A compressed radix tree of units, compiled: edges, how they are found and compared, and cut.

A node is an edge: a run of units that no prompt has yet parted within. The keys of the blocks that
end on an edge are consecutive, so a node holds only the first of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import compiled, inner
from kvaudit.replay.kernels.growth import grown
from kvaudit.replay.kernels.slots import ABSENT, home, table_size

USED_NODES, USED_UNITS, USED_KEYS = range(3)
"""Places in ``used``."""
START, LENGTH, FIRST_KEY, TAIL_KEY, ABOVE, UNIT, CHILD, CHILD_UNIT = range(8)
"""Columns of ``nodes``: where the edge starts in the arena, and how long it is; the key of the
first block that ends on it; that of the partial block that ends where it does, or `ABSENT`; the
node above, or `ABSENT`, and the edge's first unit; the child that was visited last, or `ABSENT`,
and the first unit on the way to it."""
_COLUMNS = 8
_MOST_PLACES = 2**31
"""Of an arena whose places are numbers of 32 bits."""
_LEAST_UNITS = 1 << 21
"""Below it an arena is not worth copying into a larger one: what is not used takes no memory."""


class Edges(NamedTuple):
    """The arrays of the tree; what is used of each is counted in ``used``."""

    used: NDArray[np.int64]
    """Nodes, units in the arena, keys given out."""
    arena: NDArray[np.int32]
    """The units of all edges."""
    nodes: NDArray[Any]
    """One row a node, so that a visit waits for memory once; of 32-bit numbers, and of 64-bit ones
    once the arena has more places."""
    roots: NDArray[np.int32]
    """Root node of each namespace."""
    slots: NDArray[np.int32]
    """A table by open addressing from a node and the first unit of an edge below it to the node at
    the end of that edge, or `ABSENT`. Whose edge it is, that node says, which is visited anyway."""


def no_edges() -> Edges:
    """Return an empty tree."""
    return Edges(
        used=np.zeros(3, np.int64),
        arena=np.empty(0, np.int32),
        nodes=np.empty((0, _COLUMNS), np.int32),
        roots=np.empty(0, np.int32),
        slots=np.full(table_size(1), ABSENT, np.int32),
    )


def with_room(edges: Edges, *, units: int, nodes: int, namespaces: int) -> Edges:
    """Return the tree with room for so many units and nodes more, and for so many namespaces."""
    nodes += int(edges.used[USED_NODES]) + namespaces
    units += int(edges.used[USED_UNITS])
    if units > _MOST_PLACES:
        edges = edges._replace(nodes=edges.nodes.astype(np.int64, copy=False))
    edges = edges._replace(
        arena=grown(edges.arena, max(units, _LEAST_UNITS)),
        nodes=grown(edges.nodes, nodes),
        roots=grown(edges.roots, namespaces, fill=ABSENT),
    )
    if 2 * nodes > len(edges.slots):
        edges = edges._replace(slots=np.full(table_size(nodes), ABSENT, np.int32))
        _enter_all(edges)
    return edges


@inner
def full_blocks(units: int, block_units: int) -> int:
    """Return how many blocks are full; one division takes as long as all else of a small node."""
    return units if block_units == 1 else int(np.int64(np.uint32(units) // np.uint32(block_units)))


@inner
def edge_slot(edges: Edges, above: int, unit: int) -> int:
    """Return the slot of the edge below ``above`` that starts with ``unit``, or a free one."""
    nodes, slots = edges.nodes, edges.slots
    code = (np.int64(above) << 32) | np.int64(np.uint32(unit))
    mask, slot = np.uint64(len(slots) - 1), np.uint64(home(code, len(slots)))
    while slots[slot] != ABSENT:
        node = np.uint64(slots[slot])
        if nodes[node, ABOVE] == above and nodes[node, UNIT] == unit:
            break
        slot = (slot + np.uint64(1)) & mask
    return int(np.int64(slot))


@compiled
def _enter_all(edges: Edges) -> None:
    """Enter all edges into slots that are free."""
    for node in range(edges.used[USED_NODES]):
        above, unit = edges.nodes[node, ABOVE], edges.nodes[node, UNIT]
        if above != ABSENT:
            edges.slots[edge_slot(edges, above, unit)] = node


@inner
def new_node(edges: Edges, above: int, unit: int, start: int, length: int, first_key: int) -> int:
    """Make a node for the edge below ``above`` that starts with ``unit``; no slot has it yet."""
    node = np.int64(edges.used[USED_NODES])
    edges.used[USED_NODES] += 1
    nodes = edges.nodes
    nodes[node, START] = start
    nodes[node, LENGTH] = length
    nodes[node, FIRST_KEY] = first_key
    nodes[node, TAIL_KEY] = ABSENT
    nodes[node, ABOVE] = above
    nodes[node, UNIT] = unit
    nodes[node, CHILD] = ABSENT
    return int(node)


@inner
def new_leaf(
    edges: Edges, above: int, units: NDArray[np.int32], begin: int, end: int, blocks: int
) -> int:
    """Make a node of these units, on which so many blocks end, below ``above``."""
    used, arena = edges.used, edges.arena
    start, length = used[USED_UNITS], np.uint64(end - begin)
    node = new_node(edges, above, units[begin], start, end - begin, used[USED_KEYS])
    source, target = np.uint64(begin), np.uint64(start)
    for place in range(length):
        arena[target + place] = units[source + place]
    used[USED_UNITS] += end - begin
    used[USED_KEYS] += blocks
    return int(node)


@inner
def common(a: NDArray[np.int32], a_at: int, b: NDArray[np.int32], b_at: int, limit: int) -> int:
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


@inner
def cut(edges: Edges, slot: int, node: int, at: int, blocks: int) -> int:
    """Cut the edge of ``node`` after ``at`` units, in which so many blocks end.

    A new node takes the upper part and the place in the tree; the old one keeps the lower
    part, its children and the tail at its end.
    """
    nodes, slots = edges.nodes, edges.slots
    above, unit, start = nodes[node, ABOVE], nodes[node, UNIT], nodes[node, START]
    upper = new_node(edges, above, unit, start, at, nodes[node, FIRST_KEY])
    slots[slot] = upper
    unit = edges.arena[start + at]
    nodes[node, ABOVE] = upper
    nodes[node, UNIT] = unit
    nodes[node, START] += at
    nodes[node, LENGTH] -= at
    nodes[node, FIRST_KEY] += blocks
    slots[edge_slot(edges, upper, unit)] = node
    return int(upper)


@inner
def tail_key(edges: Edges, node: int) -> int:
    """Return the key of the partial block that ends at the end of ``node``."""
    if edges.nodes[node, TAIL_KEY] == ABSENT:
        edges.nodes[node, TAIL_KEY] = edges.used[USED_KEYS]
        edges.used[USED_KEYS] += 1
    return int(edges.nodes[node, TAIL_KEY])
