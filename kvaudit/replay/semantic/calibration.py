"""A threshold with a guarantee: Learn-then-Test with a fixed sequence of tests.

Angelopoulos, Bates, Candes, Jordan and Lei, arXiv 2110.01052. Thresholds are tried from strict to
loose, each with the exact binomial test of "the false-hit rate is at least r"; the walk stops at
the first that cannot be rejected at delta, and the last one that could is returned. Its rate is
then below r but for a chance of delta. Where the walk starts depends on similarities alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.calibration import Again, CurvePoint
from kvaudit.core.errors import UsageError
from kvaudit.replay.semantic.gather import Gathered
from kvaudit.replay.semantic.policy import SemanticPolicy
from kvaudit.replay.semantic.run import SemanticRun, replay_semantic
from kvaudit.replay.semantic.statistics import binomial_cdf, clustered_upper, upper_bound
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
    again: Again | None


def calibrate(
    gathered: Gathered,
    policy: SemanticPolicy,
    *,
    limit: float,
    delta: float,
    hold_out: float = 0.0,
) -> Calibrated:
    """Choose a threshold for the policy on the log's labels.

    Every request becomes an entry, so that neighbours do not depend on the threshold and the hits
    of a stricter one are among those of a looser one. The last share ``hold_out`` of the requests
    has no say.
    """
    if policy.per_entry is not None:
        raise UsageError("per_entry learns a threshold for each entry; there is none to choose")
    run = replay_semantic(gathered, _as(policy, gathered, GRID[-1], insert="always"))
    first_held = round(len(run.asked) * (1 - hold_out))
    heard = np.arange(len(run.asked)) < first_held
    semantic = run.answered & ~run.served.exact & heard
    similarities = np.where(semantic, run.served.similarities, -np.inf)
    verdicts = run.verdicts.each
    lookups = sum(one.looked_up for one in run.asked[:first_held])
    points = [_point(threshold, similarities >= threshold, verdicts, lookups) for threshold in GRID]
    chosen, p_values = fixed_sequence(
        [Counts(point.labelled, point.false_hits) for point in points], limit, delta
    )
    points = [replace(p, p_value=value) for p, value in zip(points, p_values, strict=True)]
    again = None
    if chosen is not None:
        again = _again(gathered, policy, GRID[chosen], first_held if hold_out else 0, delta)
    return Calibrated(run, points, None if chosen is None else points[chosen], again)


def _as(
    policy: SemanticPolicy, gathered: Gathered, cosine: float, *, insert: str
) -> SemanticPolicy:
    """Return the policy at one threshold for all; the requests are told too."""
    for one in gathered.asked:
        one.cosine = cosine
    return policy.model_copy(
        update={"insert": insert, "threshold": cosine, "scale": "cosine_sim", "thresholds": {}}
    )


def _point(
    threshold: float, hit: NDArray[np.bool_], verdicts: NDArray[np.int8], lookups: int
) -> CurvePoint:
    hits, labelled = int(hit.sum()), int((hit & (verdicts != UNKNOWN)).sum())
    wrong = int((hit & (verdicts == WRONG)).sum())
    return CurvePoint(
        threshold=threshold,
        hits=hits,
        labelled=labelled,
        false_hits=wrong,
        hit_ratio=hits / lookups if lookups else None,
        precision=1 - wrong / labelled if labelled else None,
        p_value=None,
    )


def precision_area(points: Sequence[CurvePoint]) -> float | None:
    """Return the area under precision over hit ratio, by trapezes; from no hit on it is level."""
    known = [
        (p.hit_ratio, p.precision)
        for p in points
        if p.hit_ratio is not None and p.precision is not None
    ]
    if not known:
        return None
    area = known[0][0] * known[0][1]
    for (x, y), (next_x, next_y) in pairwise(known):
        area += (next_x - x) * (y + next_y) / 2
    return area


def _again(
    gathered: Gathered, policy: SemanticPolicy, cosine: float, first: int, alpha: float
) -> Again:
    run = replay_semantic(gathered, _as(policy, gathered, cosine, insert="on-miss"))
    counted = np.arange(len(run.asked)) >= first
    hit = run.answered & ~run.served.exact & counted
    labelled = hit & (run.verdicts.each != UNKNOWN)
    wrong = (run.verdicts.each[labelled] == WRONG).tolist()
    donors = run.served.donors[labelled].tolist()
    return Again(
        fresh=first > 0,
        requests=sum(one.looked_up for one in run.asked[first:]),
        hits=int(hit.sum()),
        labelled=len(wrong),
        false_hits=sum(wrong),
        donors=len(set(donors)),
        upper=upper_bound(sum(wrong), len(wrong), alpha) if wrong else None,
        upper_by_donor=clustered_upper(wrong, donors, alpha) if wrong else None,
    )
