"""Block keys from a compressed radix tree: the compiled interner.

Nothing is hashed or stored a block: a prompt is numbered by walking a handful of edges
(`kvaudit.replay.kernels.radix_edges`) and comparing runs of units. When a prompt parts from an edge
in the middle, the edge is cut in two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.batches import offsets_of
from kvaudit.replay.blocks import NO_KEY, BlockBatch
from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.kernels.radix_edges import (
    CHILD,
    CHILD_UNIT,
    FIRST_KEY,
    LENGTH,
    START,
    USED_KEYS,
    Edges,
    common,
    cut,
    edge_slot,
    full_blocks,
    new_leaf,
    new_node,
    no_edges,
    tail_key,
    with_room,
)
from kvaudit.replay.kernels.slots import ABSENT
from kvaudit.replay.key_runs import KeyRuns


class _Asked(NamedTuple):
    """What the kernel numbers; see `PromptBatch`."""

    units: NDArray[np.int32]
    offsets: NDArray[np.int64]
    prompt_units: NDArray[np.int64]
    namespaces: NDArray[np.int32]
    block_units: int
    tails: bool


class _Found(NamedTuple):
    """Where the kernel writes; all but the first are of `BlockBatch`."""

    seen_units: NDArray[np.int64]
    """Units of prompt and output that were seen before."""
    runs: KeyRuns
    known_before: NDArray[np.int64]
    prompt_tails: NDArray[np.int32]
    end_tails: NDArray[np.int32]


class RadixInterner:
    """`kvaudit.replay.blocks.Interner` over a radix tree.

    Grows with distinct text only: 4 bytes a distinct unit, and up to 64 bytes a node; a
    request adds one or two nodes, and up to four with tails.
    """

    def __init__(self, block_units: int, *, tails: bool = False) -> None:
        """Number blocks of ``block_units``, and partial last ones too with ``tails``."""
        self.block_units = block_units
        self._tails = tails
        self._edges = no_edges()
        self._room = np.empty((2, 0), np.int32)
        """For the runs of a batch."""

    def intern(self, prompts: PromptBatch) -> BlockBatch:
        """Number the blocks of the next batch of the log."""
        requests = len(prompts.prompt_units)
        lengths = np.diff(prompts.offsets)
        key_offsets = offsets_of(lengths // self.block_units)
        # A request makes at most one leaf and one cut for its prompt, and again for its
        # output where their border must be one of nodes.
        self._edges = with_room(
            self._edges,
            units=len(prompts.units),
            nodes=(4 if self._tails else 2) * requests,
            namespaces=int(prompts.namespaces.max(initial=-1)) + 1,
        )
        if key_offsets[-1] > self._room.shape[1]:  # a run for each block, if it comes to that
            self._room = np.empty((2, 2 * key_offsets[-1]), np.int32)
        tails = requests if self._tails else 0
        found = _Found(
            seen_units=np.empty(requests, np.int64),
            runs=KeyRuns(self._room[0], self._room[1], np.zeros(requests + 1, np.int64)),
            known_before=np.empty(requests + 1, np.int64),
            prompt_tails=np.empty(tails, np.int32),
            end_tails=np.empty(tails, np.int32),
        )
        asked = _Asked(
            units=prompts.units,
            offsets=prompts.offsets,
            prompt_units=prompts.prompt_units,
            namespaces=prompts.namespaces,
            block_units=self.block_units,
            tails=self._tails,
        )
        _intern(self._edges, asked, found)
        shifts, ends, offsets = found.runs
        count = offsets[-1]
        return BlockBatch(
            block_units=self.block_units,
            shared_units=np.minimum(found.seen_units, prompts.prompt_units),
            new_units=lengths - found.seen_units,
            runs=KeyRuns(shifts[:count].copy(), ends[:count].copy(), offsets),
            key_offsets=key_offsets,
            known_before=found.known_before,
            prompt_tails=found.prompt_tails if self._tails else None,
            end_tails=found.end_tails if self._tails else None,
        )


@compiled
def _intern(edges: Edges, asked: _Asked, found: _Found) -> None:
    """Number the requests one after the other."""
    # One function: handing so many arrays to another for each request takes as long as a node.
    used, arena, nodes, roots, slots = edges
    units, size, written = asked.units, asked.block_units, np.uint64(0)
    for request in range(len(asked.prompt_units)):
        found.known_before[request] = used[USED_KEYS]
        begin = asked.offsets[request]
        seen = end = asked.offsets[request + 1] - begin
        node = np.int64(roots[asked.namespaces[request]])
        if node == ABSENT:
            node = roots[asked.namespaces[request]] = new_node(edges, ABSENT, 0, 0, 0, 0)
        depth = full = np.int64(0)
        # Tails need a border of nodes where the prompt ends and where the request ends.
        for part in range(2 if asked.tails else 1):
            stop = asked.prompt_units[request] if asked.tails and part == 0 else end
            while depth < stop:
                above, unit = node, units[begin + depth]
                slot = np.int64(ABSENT)
                node = np.int64(nodes[above, CHILD])
                if node == ABSENT or nodes[above, CHILD_UNIT] != unit:
                    slot = edge_slot(edges, above, unit)
                    node = np.int64(slots[slot])
                if node == ABSENT:
                    blocks = full_blocks(stop, size) - full
                    node = new_leaf(edges, above, units, begin + depth, begin + stop, blocks)
                    slots[slot] = node
                    seen, depth = min(seen, depth), stop
                else:
                    limit = min(np.int64(nodes[node, LENGTH]), stop - depth)
                    step = common(arena, nodes[node, START], units, begin + depth, limit)
                    depth += step
                    blocks = full_blocks(depth, size) - full
                    if step < nodes[node, LENGTH] and (asked.tails or depth < stop):
                        if slot == ABSENT:
                            slot = edge_slot(edges, above, unit)
                        node = cut(edges, slot, node, step, blocks)
                if slot != ABSENT:  # else it is known already
                    nodes[above, CHILD] = node
                    nodes[above, CHILD_UNIT] = unit
                if blocks > 0:
                    full += blocks
                    found.runs.shifts[written] = nodes[node, FIRST_KEY] + blocks - full
                    found.runs.ends[written] = full
                    written += np.uint64(1)
            if asked.tails:
                tails = found.prompt_tails if part == 0 else found.end_tails
                tails[request] = tail_key(edges, node) if stop % size else NO_KEY
        found.seen_units[request] = seen
        found.runs.offsets[request + 1] = written
    found.known_before[len(asked.prompt_units)] = used[USED_KEYS]
