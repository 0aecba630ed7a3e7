"""What the labels of a sheet show: a bound, a verdict, and how many more labels it takes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from kvaudit.core.calibration import LabelReport
from kvaudit.replay.semantic.betting import Standing, standing
from kvaudit.replay.semantic.sampling import MAIN
from kvaudit.replay.semantic.sheet import DEPENDS, WRONG, Row
from kvaudit.replay.semantic.statistics import (
    clustered_upper,
    sample_lower_bound,
    sample_upper_bound,
)

PASS, FAIL, UNDECIDED = "pass", "fail", "undecided"


def label_report(rows: Sequence[Row], *, limit: float, alpha: float, depends: str) -> LabelReport:
    """Return what the sheet shows of all the hits that it was drawn from.

    ``depends`` says what that label counts as: wrong, same, or nothing (skip).
    """
    main = [row for row in rows if row.sample == MAIN]
    # In its random order, as far as it was labelled without a gap: a gap may have been chosen.
    done = list(takewhile(lambda row: row.label, main))
    counted = [row for row in done if not (row.label == DEPENDS and depends == "skip")]
    wrong = [_is_wrong(row, depends) for row in counted]
    population = main[0].population if main else 0
    # Two tests may decide, so that each has half of the level.
    at_any_time = standing(wrong, limit, alpha / 2, population or None)
    n, k = len(wrong), sum(wrong)
    planned = len(done) == len(main)
    upper = sample_upper_bound(k, n, population, alpha / 2) if n and planned else None
    lower = sample_lower_bound(k, n, population, alpha / 2) if n and planned else None
    verdict = _verdict(limit, upper, lower, at_any_time)
    donors = [row.donor for row in counted]
    extra = [row for row in rows if row.sample != MAIN and row.label]
    return LabelReport(
        population=population,
        sample=len(main),
        labelled=n,
        wrong=k,
        depends=sum(row.label == DEPENDS for row in done),
        false_hit_rate=k / n if n else None,
        upper=upper,
        lower=lower,
        upper_by_donor=clustered_upper(wrong, donors, alpha / 2) if n else None,
        donors=len(set(donors)),
        anytime_upper=at_any_time.upper,
        proven_after=at_any_time.proven_after,
        over_after=at_any_time.over_after,
        limit=limit,
        alpha=alpha,
        verdict=verdict,
        labels_still_needed=_needed(verdict, k, n, population, limit, alpha / 2),
        behind_a_gap=sum(bool(row.label) for row in main) - len(done),
        extra_labelled=len(extra),
        extra_wrong=sum(_is_wrong(row, depends) for row in extra),
        agreement=_agreement(rows),
        faults=[
            (row.donor, row.request, row.asked_before, row.asked)
            for row in rows
            if row.label and _is_wrong(row, depends)
        ],
    )


def _is_wrong(row: Row, depends: str) -> bool:
    return row.label == WRONG or (row.label == DEPENDS and depends == WRONG)


def _verdict(limit: float, upper: float | None, lower: float | None, at_any_time: Standing) -> str:
    """Return the verdict: by the whole sample where it is labelled, else by the bets alone."""
    if at_any_time.over_after is not None or (lower is not None and lower > limit):
        return FAIL
    if at_any_time.proven_after is not None or (upper is not None and upper <= limit):
        return PASS
    return UNDECIDED


def _needed(
    verdict: str, wrong: int, looked_at: int, population: int, limit: float, alpha: float
) -> int | None:
    """Return the labels that are still needed if no further one is wrong; None for no number."""
    if verdict != UNDECIDED or not population:
        return None
    low, high = looked_at, population
    if sample_upper_bound(wrong, high, population, alpha) > limit:
        return None
    while low < high:
        middle = (low + high) // 2
        if sample_upper_bound(wrong, middle, population, alpha) <= limit:
            high = middle
        else:
            low = middle + 1
    return low - looked_at


def _agreement(rows: Sequence[Row]) -> tuple[int, int] | None:
    """Return on how many rows two people agree, of how many that both labelled."""
    both = [row for row in rows if row.label and row.second_label]
    return (sum(row.label == row.second_label for row in both), len(both)) if both else None
