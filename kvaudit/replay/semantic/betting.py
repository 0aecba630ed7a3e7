"""A bound on a share that holds at any time it is looked at: betting martingales.

Against "the share of wrong ones is at least r" wealth grows with every right label, against "at
most r" with every wrong one; under either claim it is expected not to grow, so that it reaches
1 / alpha with a chance of at most alpha, however often it is looked at (Ville; Waudby-Smith and
Ramdas, arXiv 2010.09686). Where the labelled ones are a random sample of hits that can be counted,
what is left to draw is known, and the bets know it too (section 4 of the same).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BETS = 24
"""Sizes of a bet, each with an equal share of the wealth: no size need be known before."""
_STEPS = 60


class Standing(NamedTuple):
    """What labels have shown so far."""

    looked_at: int
    wrong: int
    proven_after: int | None
    """Labels after which the share was proven to be under the limit; None if never."""
    over_after: int | None
    """Labels after which it was proven to be over the limit."""
    upper: float
    """The share is below this, at the level of the test."""


def standing(
    wrong: Sequence[bool], limit: float, alpha: float, population: int | None = None
) -> Standing:
    """Follow labels in the order they were drawn; ``population`` is what they were drawn from."""
    return Standing(
        looked_at=len(wrong),
        wrong=sum(wrong),
        proven_after=first_crossing(wrong, limit, alpha, population, under=True),
        over_after=first_crossing(wrong, limit, alpha, population, under=False),
        upper=anytime_upper(wrong, alpha, population),
    )


def first_crossing(
    wrong: Sequence[bool],
    limit: float,
    alpha: float,
    population: int | None = None,
    *,
    under: bool,
) -> int | None:
    """Return the number of labels that prove the share under, or over, the limit."""
    enough = log_wealth(wrong, limit, population, under=under) >= log(1 / alpha)
    return int(enough.argmax()) + 1 if enough.any() else None


def log_wealth(
    wrong: Sequence[bool], limit: float, population: int | None = None, *, under: bool
) -> NDArray[np.float64]:
    """Return the logarithm of the wealth after each label.

    Bets are shares of the largest that cannot lose all; they are fixed before the first label.
    """
    labels = np.asarray(wrong, np.float64)
    rates = np.full(len(labels), limit)
    if population is not None:
        seen = np.arange(len(labels))
        lost = np.concatenate(([0.0], np.cumsum(labels)[:-1])) if len(labels) else labels
        # The share of wrong ones among what is left, if it is the limit over all.
        rates = (limit * population - lost) / np.maximum(population - seen, 1)
    open_ = (rates > 0) & (rates < 1)
    safe = np.where(open_, rates, 0.5)
    gains = (safe - labels) / (1 - safe) if under else (labels - safe) / safe
    shares = (np.arange(BETS) + 0.5)[:, None] / BETS
    steps = np.where(open_, np.log1p(shares * gains), 0.0)
    # Refuted: the claim needs more wrong, or more right ones than are left.
    if under:
        refuted = (rates > 1) | ((rates == 1) & (labels == 0))
    else:
        refuted = (rates < 0) | ((rates == 0) & (labels == 1))
    wealth = np.cumsum(np.where(refuted, inf, steps), axis=1)
    found: NDArray[np.float64] = np.logaddexp.reduce(wealth, axis=0) - log(BETS)
    return found


def anytime_upper(wrong: Sequence[bool], alpha: float, population: int | None = None) -> float:
    """Return the least limit that the labels prove, at whatever label one stops."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        proven = first_crossing(wrong, middle, alpha, population, under=True) is not None
        low, high = (low, middle) if proven else (middle, high)
    return high
