"""Numbers for all pages of a log, also for those whose text it does not hold.

Storage holds pages of generated tokens that the log does not tell. Nobody asks for them, but they
take room, so each needs a place of its own among the keys of the others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.key_runs import KeyRuns, begins_of, with_unknown


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
    ) -> tuple[KeyRuns, int]:
        """Return the numbers of each request's ``pages``, of which ``known`` ones have keys.

        Also how many numbers there are so far.
        """
        self._first_keys.append(int(blocks.known_before[0]))
        self._moved.append(self._unknown)
        first = int(blocks.known_before[-1]) + self._unknown
        self._unknown += int((pages - known).sum())
        runs = blocks.runs
        # All keys of a run were brought by one batch: it stands on one edge of the interner's tree.
        batch = np.searchsorted(self._first_keys, begins_of(runs) + runs.shifts, side="right") - 1
        moved = runs.shifts + np.array(self._moved, np.int32)[batch]
        numbers = with_unknown(runs._replace(shifts=moved), known, pages, first)
        return numbers, int(blocks.known_before[-1]) + self._unknown
