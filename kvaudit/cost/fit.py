"""Fits seconds = constant + FLOPs / rate to measured times to first token.

Neither a negative constant nor a negative rate is possible, and a few requests that waited long
must not decide: relative errors count, and large ones by their size, not by their square
(iteratively reweighted least squares). What the line leaves is reported beside it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FEWEST = 20
"""Below so many measured requests nothing is fitted."""
ROUNDS = 30
"""Of reweighting; the line stands still long before."""


class Line(NamedTuple):
    """Seconds of a prefill as a line over its FLOPs."""

    constant_s: float
    s_per_flop: float

    def seconds(self, flops: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the line's seconds; a request with nothing to compute takes the constant."""
        return self.constant_s + flops * self.s_per_flop


class Errors(NamedTuple):
    """Relative errors of a model against measured times."""

    median: float
    p90: float


def fit_line(flops: NDArray[np.float64], seconds: NDArray[np.float64]) -> Line | None:
    """Return the line through measured ``seconds`` (positive), or None where there is none.

    None for fewer than `FEWEST` requests, and where time does not grow with FLOPs.
    """
    if len(flops) < FEWEST:
        return None
    scale = float(flops.max()) or 1.0
    x = flops / scale
    weights = 1 / seconds**2
    line = _weighted(x, seconds, weights)
    for _ in range(ROUNDS):
        if line is None:
            return None
        off = np.abs(line[0] + line[1] * x - seconds) / seconds
        line = _weighted(x, seconds, 1 / (seconds**2 * np.maximum(off, 1e-6)))
    return None if line is None else Line(line[0], line[1] / scale)


def relative_errors(model: NDArray[np.float64], measured: NDArray[np.float64]) -> Errors:
    """Return how far a model is off, as shares of the measured times (positive)."""
    errors = np.sort(np.abs(model - measured) / measured)
    at = [max(0, int(np.ceil(share * len(errors))) - 1) for share in (0.5, 0.9)]
    return Errors(float(errors[at[0]]), float(errors[at[1]]))


def _weighted(
    x: NDArray[np.float64], y: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[float, float] | None:
    """Return constant and slope of least weighted squares, neither of them negative."""
    total = weights.sum()
    mean_x, mean_y = (weights * x).sum() / total, (weights * y).sum() / total
    spread = (weights * (x - mean_x) ** 2).sum()
    if spread <= 0:
        return None
    slope = (weights * (x - mean_x) * (y - mean_y)).sum() / spread
    if slope <= 0:
        return None
    constant = mean_y - slope * mean_x
    if constant < 0:
        constant, slope = 0.0, (weights * x * y).sum() / (weights * x * x).sum()
    return float(constant), float(slope)
