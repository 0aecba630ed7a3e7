"""Budgets: figures of a run that must not fall below a limit, or not exceed one.

``--fail-under hit-rate=0.6`` fails the run when fewer than 60 % of the prompt tokens are hits;
``saved-flops=0.5`` when the hits save less than half of the prefill FLOPs, which needs a model.
``--fail-over false-hit-rate=0.02`` fails it when more than 2 % of the semantic hits are wrong, or
when the log does not say whether they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

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


def _false_hit_rate(report: ReplayReport) -> float | None:
    """Return the share of wrong semantic hits; no hit is none that was wrong."""
    if report.semantic is None:
        return None
    return report.semantic.false_hit_rate if report.semantic.hits else 0.0


def _false_hit_rate_upper95(report: ReplayReport) -> float | None:
    return None if report.semantic is None else report.semantic.false_hit_rate_upper95


def _errors_per_request(report: ReplayReport) -> float | None:
    return None if report.semantic is None else report.semantic.errors_per_request


CEILINGS: Mapping[str, Callable[[ReplayReport], float | None]] = {
    "false-hit-rate": _false_hit_rate,
    "false-hit-rate-upper95": _false_hit_rate_upper95,
    "errors-per-request": _errors_per_request,
}
"""Figures that must not exceed a limit."""


def parse_fail_under(values: Sequence[str]) -> dict[str, float]:
    """Read every ``--fail-under NAME=LIMIT``; a limit is a share (0.6) or per cent (60%)."""
    return _limits("--fail-under", values, FIGURES)


def parse_fail_over(values: Sequence[str]) -> dict[str, float]:
    """Read every ``--fail-over NAME=LIMIT``."""
    return _limits("--fail-over", values, CEILINGS)


def _limits(option: str, values: Sequence[str], figures: Iterable[str]) -> dict[str, float]:
    limits: dict[str, float] = {}
    for value in values:
        name, equals, text = (part.strip() for part in value.partition("="))
        if not equals:
            example = next(iter(figures))
            raise UsageError(f"{option} {value}: write it as NAME=LIMIT, such as {example}=0.6")
        if name not in figures:
            raise UsageError(
                f"{option} {value}: {name} is not a figure{did_you_mean(name, figures)}"
            )
        limits[name] = _share(f"{option} {value}", text)
    return limits


def _share(given: str, text: str) -> float:
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise UsageError(f"{given}: {text!r} is not a number") from None
    if not 0 <= share <= 1:  # also refuses nan
        raise UsageError(f"{given}: the limit must be from 0 to 1 (0 % to 100 %)")
    return share


def judge(
    report: ReplayReport, floors: Mapping[str, float], ceilings: Mapping[str, float] | None = None
) -> list[Budget]:
    """Hold the report against every limit. A figure that is missing fails its budget."""
    budgets = []
    for name, limit in sorted(floors.items()):
        value = FIGURES[name](report)
        passed = value is not None and value >= limit
        budgets.append(Budget(name=name, limit=limit, value=value, passed=passed))
    for name, limit in sorted((ceilings or {}).items()):
        value = CEILINGS[name](report)
        if not _supported(report, name, limit):
            value = None
        passed = value is not None and value <= limit
        budgets.append(Budget(name=name, limit=limit, value=value, passed=passed, at_most=True))
    return budgets


def _supported(report: ReplayReport, name: str, limit: float) -> bool:
    """Return whether a rate may be held against the limit: a proxy must be finer than it."""
    semantic = report.semantic
    if semantic is None or semantic.proxy is None or not semantic.hits:
        return True
    return name == "false-hit-rate-upper95" or semantic.proxy.supports(limit)


def failure(budget: Budget) -> str:
    """Say how a budget was missed."""
    bound, beyond = ("at most", "over") if budget.at_most else ("at least", "below")
    if budget.value is None:
        return f"{budget.name} has no value on this log, and {bound} {budget.limit:g} was asked for"
    return f"{budget.name} is {budget.value:.4g}, {beyond} the {budget.limit:g} that was asked for"
