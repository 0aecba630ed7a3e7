"""Rows that agree in some columns."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Groups = NDArray[np.int64]


def grouped(columns: Iterable[NDArray[np.int32]], rows: int) -> Groups:
    """Return a number for each row, equal where the rows agree in every column."""
    groups = np.zeros(rows, np.int64)
    for codes in columns:
        # Both factors are below 2**31, so the product fits.
        both = groups * (int(codes.max(initial=0)) + 1) + codes
        groups = np.unique(both, return_inverse=True)[1].astype(np.int64)
    return groups


def count_of(groups: Groups) -> int:
    """Return how many groups there are; their numbers run from 0."""
    return int(groups.max(initial=-1)) + 1


def firsts(groups: Groups) -> NDArray[np.intp]:
    """Return for each row the first row of its group."""
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    made: NDArray[np.intp] = first[inverse]
    return made
