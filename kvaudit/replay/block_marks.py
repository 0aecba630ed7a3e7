"""A mark on every block that a cache holds, set by the request that computed it last.

That differs from the cache only where a block was computed twice and both are held: a prompt
that is held to its very end.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.kernels.growth import grown
from kvaudit.replay.outcomes import CacheOutcome

UNMARKED = 0
_ANY = -1
"""The row of all replicas together."""

Judge = Callable[[int, NDArray[np.int32]], int]
"""Takes a request's number in its batch and the marks of the blocks it hit; returns the mark of
those that it computed."""


class BlockMarks:
    """Marks by replica and block. Grows to 4 bytes a distinct block and replica."""

    def __init__(self, block_units: int) -> None:
        """Take the interner's blocks."""
        self._block_units = block_units
        self._rows: dict[int, NDArray[np.int32]] = {}

    def follow(
        self, prompts: PromptBatch, blocks: BlockBatch, outcome: CacheOutcome, judge: Judge
    ) -> None:
        """Show every admitted request's hits to ``judge``, and mark what it computed."""
        starts = blocks.key_offsets.tolist()
        hits = outcome.hit_blocks.tolist()
        routed = outcome.routed
        size = int(blocks.keys.max(initial=-1)) + 1
        for i in np.flatnonzero(outcome.admitted).tolist():
            keys = blocks.keys[starts[i] : starts[i + 1]]
            hit = min(hits[i], len(keys))
            own = self._row(0 if routed is None else int(routed.replicas[i]), size)
            if routed is not None:
                local, donor = int(routed.local_blocks[i]), int(routed.donors[i])
                if local < hit:
                    fetched = keys[local:hit]
                    own[fetched] = self._row(donor, size)[fetched]
            mark = judge(i, own[keys[:hit]])
            own[keys[hit:]] = mark
            if routed is not None:
                self._row(_ANY, size)[keys[hit:]] = mark

    def tokens(
        self, prompts: PromptBatch, outcome: CacheOutcome, index: int, chosen: NDArray[np.bool_]
    ) -> int:
        """Return the hit tokens of the chosen ones of a request's hit blocks."""
        size = int(prompts.unit_tokens[index]) * self._block_units
        count = int(chosen.sum())
        if count and chosen[-1]:
            # What is beyond the last known block, a partial one, goes with that block.
            return int(outcome.cached_tokens[index]) - (len(chosen) - count) * size
        return count * size

    def _row(self, replica: int, size: int) -> NDArray[np.int32]:
        row = self._rows.get(replica)
        if row is None or len(row) < size:
            row = grown(np.zeros(0, np.int32) if row is None else row, size, fill=UNMARKED)
            self._rows[replica] = row
        return row
