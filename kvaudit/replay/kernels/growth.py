"""Arrays that grow with a log, for kernels that cannot grow them themselves."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_Number = TypeVar("_Number", np.bool_, np.int32, np.int64)


def grown(array: NDArray[_Number], size: int, fill: int | None = None) -> NDArray[_Number]:
    """Return an array of at least ``size`` that starts with ``array``'s values.

    Half as much again is allocated, so that growth costs a constant a value; what is not
    yet written takes no memory. ``fill`` is what new entries hold, else they hold anything.
    """
    if size <= len(array):
        return array
    larger = np.empty(size + size // 2, array.dtype)
    larger[: len(array)] = array
    if fill is not None:
        larger[len(array) :] = fill
    return larger
