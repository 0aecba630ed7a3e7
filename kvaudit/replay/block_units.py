"""Logged ids of blocks, which may be any 64-bit values, as the 32-bit units of cache models."""

from __future__ import annotations

from collections import defaultdict
from itertools import count

import numpy as np
from numpy.typing import NDArray

_FIRST_LARGE = 2**31


class BlockUnits:
    """Gives every id a unit of its own; ids that fit are their own units.

    Holds some 100 bytes for each id that does not fit.
    """

    def __init__(self) -> None:
        """Start with no id that does not fit."""
        # An id that is met for the first time gets the next negative number.
        self._others: defaultdict[int, int] = defaultdict(count(-1, -1).__next__)

    def of(self, ids: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the units of ids."""
        units = ids.astype(np.int32)
        # As unsigned numbers, negative ids are large ones.
        large = np.flatnonzero(ids.view(np.uint64) >= _FIRST_LARGE)
        if len(large):
            numbers = map(self._others.__getitem__, ids[large].tolist())
            units[large] = np.fromiter(numbers, np.int32, len(large))
        return units
