"""How a count is distributed over requests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.summaries import LengthSummary


def lengths(values: NDArray[np.int64]) -> LengthSummary | None:
    """Return the distribution of a count; None where there is nothing to describe."""
    if not len(values):
        return None
    in_order = np.sort(values)
    return LengthSummary(
        requests=len(values),
        total=int(values.sum()),
        mean=float(values.mean()),
        p50=int(quantile(in_order, 0.5)),
        p99=int(quantile(in_order, 0.99)),
        max=int(in_order[-1]),
    )


def quantile(in_order: NDArray[np.int64] | NDArray[np.float64], share: float) -> float:
    """Return the smallest value that at least ``share`` of the values do not exceed."""
    return float(in_order[max(0, int(np.ceil(share * len(in_order))) - 1)])
