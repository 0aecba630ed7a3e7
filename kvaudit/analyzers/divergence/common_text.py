"""Where the text begins that most requests of a group have, behind what each has for itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.divergence.fingerprints import grams_of
from kvaudit.analyzers.divergence.relatives import GRAM, Relatives

SAMPLE = 512
"""Requests whose text is counted; spread evenly over the group."""
_MOST = 0.5
_LEAST = 3
_LASTING = 32
"""Units for which a text is common before it counts as such."""


class CommonText:
    """In how many requests each run of `GRAM` units stands."""

    def __init__(
        self,
        relatives: Relatives,
        members: NDArray[np.int64],
        columns: dict[str, NDArray[np.int64]],
    ) -> None:
        """Count over ``members``, in each of which the text stands behind what it shares."""
        self._relatives = relatives
        step = max(1, -(-len(members) // SAMPLE))
        found = [
            np.unique(self._grams(int(place), int(columns["shared"][place])))
            for place in members[::step]
        ]
        flat = np.concatenate(found) if found else np.empty(0, np.uint64)
        self._runs, self._counts = np.unique(flat, return_counts=True)

    def begin(self, place: int, shared: int, otherwise: int) -> int:
        """Return where the common text begins in a request; ``otherwise`` where there is none."""
        common = self._common(place, shared)
        if not common.any():
            return otherwise
        # A passage that is found often is as common, but most of what follows it is not: it
        # begins where more of all that follows is common than anywhere else.
        behind = np.cumsum(np.where(common, 1, -1)[::-1])[::-1]
        return shared + int(np.where(common, behind, -len(common)).argmax())

    def end(self, place: int, begin: int) -> int:
        """Return where the common text ends that begins at a unit."""
        common = self._common(place, begin)
        if not common.any():
            return begin
        others = np.flatnonzero(~common)
        last = int(others[0]) if len(others) else len(common)
        return begin + last + _width(len(common)) + GRAM - 2

    def _common(self, place: int, start: int) -> NDArray[np.bool_]:
        """Return at which units, from one on, some length of text begins that most requests have.

        A sentence may be in all of them by chance: a level counts where it is kept for a while.
        """
        grams = self._grams(place, start)
        if not len(grams) or not len(self._runs):
            return np.zeros(0, np.bool_)
        at = np.searchsorted(self._runs, grams)
        at[at == len(self._runs)] = 0
        counts = np.where(self._runs[at] == grams, self._counts[at], 0)
        kept = np.lib.stride_tricks.sliding_window_view(counts, _width(len(counts))).min(axis=1)
        most = int(kept.max())
        return kept >= _MOST * most if most >= _LEAST else np.zeros(0, np.bool_)

    def _grams(self, place: int, shared: int) -> NDArray[np.uint64]:
        return grams_of(self._relatives.prompt(place)[shared:], GRAM)


def _width(grams: int) -> int:
    """Return how many grams in a row are looked at; fewer where there are few."""
    return max(1, min(_LASTING, grams // 2))
