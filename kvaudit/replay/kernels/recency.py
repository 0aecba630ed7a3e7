"""Keys from the one used longest ago to the one used last, compiled.

A ring through place 0: a key stands at its own number and one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import inner
from kvaudit.replay.kernels.growth import grown

ANCHOR = 0
HELD, PEAK = range(2)
"""Places in ``totals``."""


class Recency(NamedTuple):
    """State of the ring, by key and one unless stated."""

    totals: NDArray[np.int64]
    """Keys held, the most ever held."""
    held: NDArray[np.bool_]
    older: NDArray[np.int32]
    newer: NDArray[np.int32]


def empty_recency() -> Recency:
    """Return a ring that holds nothing."""
    return Recency(
        totals=np.zeros(2, np.int64),
        held=np.zeros(1, np.bool_),
        older=np.zeros(1, np.int32),
        newer=np.zeros(1, np.int32),
    )


def with_keys(ring: Recency, keys: int) -> Recency:
    """Return the ring with room for keys below ``keys``."""
    return Recency(
        totals=ring.totals,
        held=grown(ring.held, keys + 1, fill=0),
        older=grown(ring.older, keys + 1),
        newer=grown(ring.newer, keys + 1),
    )


@inner
def take_out(older: NDArray[np.int32], newer: NDArray[np.int32], place: int) -> None:
    """Take what stands at a place out of the ring."""
    newer[older[place]] = newer[place]
    older[newer[place]] = older[place]


@inner
def append(older: NDArray[np.int32], newer: NDArray[np.int32], place: int) -> None:
    """Put into the ring, as what was used last, what is not in it."""
    tail = older[ANCHOR]
    newer[tail] = place
    older[place] = tail
    newer[place] = ANCHOR
    older[ANCHOR] = place


@inner
def refresh(ring: Recency, keys: NDArray[np.int32]) -> None:
    """Count a use of those keys that are held, from the last to the first."""
    held, older, newer = ring.held, ring.older, ring.newer
    for index in range(len(keys) - 1, -1, -1):
        place = keys[index] + 1
        if held[place]:
            take_out(older, newer, place)
            append(older, newer, place)


@inner
def put(ring: Recency, keys: NDArray[np.int32], capacity: int) -> int:
    """Hold keys, from the first to the last; return how many of them were new.

    For each that is new where ``capacity`` are held, the one used longest ago goes.
    """
    totals, held, older, newer = ring
    new = 0
    for key in keys:
        place = key + 1
        if held[place]:
            take_out(older, newer, place)
        else:
            if totals[HELD] == capacity:
                oldest = newer[ANCHOR]
                take_out(older, newer, oldest)
                held[oldest] = False
                totals[HELD] -= 1
            held[place] = True
            totals[HELD] += 1
            new += 1
        append(older, newer, place)
    totals[PEAK] = max(totals[PEAK], totals[HELD])
    return new
