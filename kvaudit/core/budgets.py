"""Budgets: figures of a run that must not fall below a limit.

``--fail-under hit-rate=0.6`` fails the run when fewer than 60 % of the prompt tokens are hits;
``saved-flops=0.5`` when the hits save less than half of the prefill FLOPs, which needs a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean
from kvaudit.core.results import Budget, ReplayReport


def _hit_rate(report: ReplayReport) -> float | None:
    """Return the least hit rate the log admits: a budget is met only for certain."""
    if report.prefix is None:
        return None
    bounds = report.prefix.bounds
    return report.prefix.hit_rate if bounds is None else bounds.low


def _saved_flops(report: ReplayReport) -> float | None:
    """Return the share of prefill FLOPs that the hits save."""
    return None if report.savings is None else report.savings.share


FIGURES: Mapping[str, Callable[[ReplayReport], float | None]] = {
    "hit-rate": _hit_rate,
    "saved-flops": _saved_flops,
}


def parse_fail_under(values: Sequence[str]) -> dict[str, float]:
    """Read every ``--fail-under NAME=LIMIT``; a limit is a share (0.6) or per cent (60%)."""
    limits: dict[str, float] = {}
    for value in values:
        name, equals, text = (part.strip() for part in value.partition("="))
        if not equals:
            raise UsageError(f"--fail-under {value}: write it as NAME=LIMIT, such as hit-rate=0.6")
        if name not in FIGURES:
            raise UsageError(
                f"--fail-under {value}: {name} is not a figure{did_you_mean(name, FIGURES)}"
            )
        limits[name] = _share(value, text)
    return limits


def _share(value: str, text: str) -> float:
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise UsageError(f"--fail-under {value}: {text!r} is not a number") from None
    if not 0 <= share <= 1:  # also refuses nan
        raise UsageError(f"--fail-under {value}: the limit must be from 0 to 1 (0 % to 100 %)")
    return share


def judge(report: ReplayReport, limits: Mapping[str, float]) -> list[Budget]:
    """Hold the report against every limit. A figure that is missing fails its budget."""
    budgets = []
    for name, limit in sorted(limits.items()):
        value = FIGURES[name](report)
        passed = value is not None and value >= limit
        budgets.append(Budget(name=name, limit=limit, value=value, passed=passed))
    return budgets


def failure(budget: Budget) -> str:
    """Say how a budget was missed."""
    if budget.value is None:
        return (
            f"{budget.name} has no value on this log, and at least {budget.limit:g} was asked for"
        )
    return f"{budget.name} is {budget.value:.4g}, below the {budget.limit:g} that was asked for"
