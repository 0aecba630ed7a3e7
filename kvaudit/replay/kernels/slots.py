"""A table from codes to nodes by open addressing, compiled; codes are never taken out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import compiled, inner

ABSENT = -1
"""The node of a free slot."""
CODE, NODE = range(2)
"""Columns of a table."""


def table_size(entries: int) -> int:
    """Return how many slots keep so many entries short of each other's way."""
    return 1 << (2 * entries).bit_length()


def slots_for(slots: NDArray[np.int64] | None, entries: int) -> NDArray[np.int64]:
    """Return a table with room for so many entries that holds what ``slots`` does."""
    if slots is not None and 2 * entries <= len(slots):
        return slots
    larger = np.full((table_size(entries), 2), ABSENT, np.int64)
    if slots is not None:
        _refill(slots, larger)
    return larger


@inner
def home(code: int, size: int) -> int:
    """Return the slot from which on a code is looked for in a table of this size."""
    mixed = np.uint64(code) * np.uint64(0x9E3779B97F4A7C15)
    return int(np.int64((mixed >> np.uint64(24)) & np.uint64(size - 1)))


@inner
def slot_of(slots: NDArray[np.int64], code: int) -> int:
    """Return the slot of a code, or a free one, which is its own from now on."""
    mask, slot = np.uint64(len(slots) - 1), np.uint64(home(code, len(slots)))
    while slots[slot, NODE] != ABSENT and slots[slot, CODE] != code:
        slot = (slot + np.uint64(1)) & mask
    slots[slot, CODE] = code
    return int(np.int64(slot))


@compiled
def _refill(slots: NDArray[np.int64], larger: NDArray[np.int64]) -> None:
    for slot in range(len(slots)):
        if slots[slot, NODE] != ABSENT:
            larger[slot_of(larger, slots[slot, CODE]), NODE] = slots[slot, NODE]
