"""Intervals around rates, and around the difference of two, at 95 %.

Both methods are normal approximations: of a ratio of sums by its standard error, and of a
proportion by Wilson's score, which also holds near 0 and 1.
"""

from __future__ import annotations

from math import hypot, sqrt
from typing import NamedTuple

Z95 = 1.959963984540054
"""97.5 % quantile of the normal distribution."""


class Interval(NamedTuple):
    """From ``low`` to ``high``."""

    low: float
    high: float


def between(difference: float, one_error: float, other_error: float) -> Interval:
    """Return the interval of a difference of two independent rates with their standard errors."""
    margin = Z95 * hypot(one_error, other_error)
    return Interval(difference - margin, difference + margin)


def wilson(hits: float, trials: float) -> Interval:
    """Return the score interval of a proportion; Wilson 1927."""
    share, squared = hits / trials, Z95 * Z95
    centre = share + squared / (2 * trials)
    margin = Z95 * sqrt(share * (1 - share) / trials + squared / (4 * trials * trials))
    whole = 1 + squared / trials
    return Interval(max((centre - margin) / whole, 0.0), min((centre + margin) / whole, 1.0))


def between_proportions(
    hits: float, trials: float, other_hits: float, other_trials: float
) -> Interval:
    """Return the interval of the first proportion less the second; Newcombe 1998, method 10."""
    one, other = wilson(hits, trials), wilson(other_hits, other_trials)
    share, other_share = hits / trials, other_hits / other_trials
    difference = share - other_share
    return Interval(
        difference - hypot(share - one.low, other.high - other_share),
        difference + hypot(one.high - share, other_share - other.low),
    )
