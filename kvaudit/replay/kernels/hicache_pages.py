"""Numbers for all pages of a log, also for those whose text it does not hold.

Storage holds pages of generated tokens that the log does not tell. Nobody asks for them, but they
take room, so each needs a place of its own among the keys of the others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.batches import offsets_of
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.kernels.compiled import compiled


class PageNumbers:
    """Makes room for unknown pages after the keys of each batch; the keys after them move up."""

    def __init__(self) -> None:
        """Start with an empty log."""
        self._first_keys: list[int] = []
        """The first key that each batch brought."""
        self._moved: list[int] = []
        """By how much the keys that it brought move up."""
        self._unknown = 0

    def number(
        self, blocks: BlockBatch, known: NDArray[np.int64], pages: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], int]:
        """Return the numbers of each request's ``pages``, of which ``known`` ones have keys.

        Also where each request's begin, and how many numbers there are so far.
        """
        self._first_keys.append(int(blocks.known_before[0]))
        self._moved.append(self._unknown)
        first = int(blocks.known_before[-1]) + self._unknown
        unknown = int((pages - known).sum())
        self._unknown += unknown
        if self._unknown == 0:
            return blocks.keys, blocks.key_offsets, first
        starts = offsets_of(pages)
        numbers = np.empty(starts[-1], np.int32)
        batches = np.array(self._first_keys, np.int64), np.array(self._moved, np.int64)
        _number(blocks.keys, blocks.key_offsets, known, *batches, first, starts, numbers)
        return numbers, starts, first + unknown


@compiled
def _number(
    keys: NDArray[np.int32],
    key_starts: NDArray[np.int64],
    known: NDArray[np.int64],
    first_keys: NDArray[np.int64],
    moved: NDArray[np.int64],
    unknown: int,
    starts: NDArray[np.int64],
    numbers: NDArray[np.int32],
) -> None:
    """Write the numbers of all requests; those of unknown pages go up from ``unknown``."""
    for request in range(len(known)):
        at, end = starts[request], starts[request + 1]
        batch = 0
        # A page has a greater key than the one before it, so the batches go up too.
        for key in keys[key_starts[request] : key_starts[request] + known[request]]:
            while batch + 1 < len(first_keys) and first_keys[batch + 1] <= key:
                batch += 1
            numbers[at] = key + moved[batch]
            at += 1
        for place in range(at, end):
            numbers[place] = unknown
            unknown += 1
