"""A threshold with a guarantee: Learn-then-Test with a fixed sequence of tests.

Angelopoulos, Bates, Candes, Jordan and Lei, arXiv 2110.01052. Thresholds are tried from strict to
loose, each with the exact binomial test of "the false-hit rate is at least r"; the walk stops at
the first that cannot be rejected at delta, and the last one that could is returned. Its rate is
then below r but for a chance of delta. Where the walk starts depends on similarities alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log
from typing import NamedTuple

import numpy as np

from kvaudit.core.calibration import CurvePoint
from kvaudit.replay.semantic.gather import Gathered
from kvaudit.replay.semantic.policy import SemanticPolicy
from kvaudit.replay.semantic.run import SemanticRun, replay_semantic
from kvaudit.replay.semantic.statistics import binomial_cdf
from kvaudit.replay.semantic.truth import UNKNOWN, WRONG

GRID = tuple(round(1 - 0.005 * step, 3) for step in range(101))
"""Cosines from 1 to 0.5; fixed, so that no label has a say in it."""
MANY_UNITS = 12
"""Of the least number of labels that can pass; from here on the start can afford four of them."""


class Counts(NamedTuple):
    """Labelled hits at a threshold."""

    labelled: int
    wrong: int


def first_test(counts: Sequence[Counts], limit: float, delta: float) -> int | None:
    """Return where the walk starts: at enough labels that a good threshold is likely to pass.

    Not at the strictest one, where so few are labelled that nothing could pass, and the walk
    would end before it began.
    """
    unit = log(delta) / log(1 - limit)
    units = 4 if counts and counts[-1].labelled >= MANY_UNITS * unit else 2
    return next((i for i, c in enumerate(counts) if c.labelled >= units * unit), None)


def fixed_sequence(
    counts: Sequence[Counts], limit: float, delta: float
) -> tuple[int | None, list[float | None]]:
    """Return the loosest threshold that passes, and the p-value of each test that was made."""
    p_values: list[float | None] = [None] * len(counts)
    chosen = None
    start = first_test(counts, limit, delta)
    for i in range(start if start is not None else len(counts), len(counts)):
        p_values[i] = p_value = binomial_cdf(counts[i].wrong, counts[i].labelled, limit)
        if p_value > delta:
            break
        chosen = i
    return chosen, p_values


class Calibrated(NamedTuple):
    """The curve over thresholds, and which of its points was chosen."""

    run: SemanticRun
    curve: Sequence[CurvePoint]
    chosen: CurvePoint | None


def calibrate(
    gathered: Gathered, policy: SemanticPolicy, *, limit: float, delta: float
) -> Calibrated:
    """Choose a threshold for the policy on the log's labels.

    Every request becomes an entry, so that neighbours do not depend on the threshold and the hits
    of a stricter one are among those of a looser one.
    """
    loosest = policy.model_copy(
        update={"insert": "always", "threshold": GRID[-1], "scale": "cosine_sim", "thresholds": {}}
    )
    for one in gathered.asked:
        one.cosine = GRID[-1]
    run = replay_semantic(gathered, loosest)
    semantic = run.answered & ~run.served.exact
    similarities = np.where(semantic, run.served.similarities, -np.inf)
    verdicts = run.verdicts.each
    points = []
    for threshold in GRID:
        hit = similarities >= threshold
        points.append(
            CurvePoint(
                threshold=threshold,
                hits=int(hit.sum()),
                labelled=int((hit & (verdicts != UNKNOWN)).sum()),
                false_hits=int((hit & (verdicts == WRONG)).sum()),
                p_value=None,
            )
        )
    chosen, p_values = fixed_sequence(
        [Counts(point.labelled, point.false_hits) for point in points], limit, delta
    )
    points = [replace(p, p_value=value) for p, value in zip(points, p_values, strict=True)]
    return Calibrated(run, points, None if chosen is None else points[chosen])
