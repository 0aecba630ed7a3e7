"""Arrays that grow with a log, for kernels that cannot grow them themselves."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_Number = TypeVar("_Number", np.bool_, np.int32, np.int64)


def grown(array: NDArray[_Number], size: int, fill: int | None = None) -> NDArray[_Number]:
    """Return an array of at least ``size`` rows that starts with ``array``'s rows.

    More is allocated than is asked for, so that growth costs a constant a row. ``fill`` is what
    new rows hold, else they hold anything.
    """
    if size <= len(array):
        return array
    # Memory that is not written to, as zeros from the system are not, takes only addresses, so
    # where nothing is filled in four times as much is asked for, and most rows are copied but once.
    rows = size + size // 2 if fill is not None else 4 * size
    make = np.zeros if fill == 0 else np.empty
    larger = make((rows, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    if fill:
        larger[len(array) :] = fill
    return larger
