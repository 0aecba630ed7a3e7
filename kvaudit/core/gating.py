"""Budgets: limits on the command line or in the settings, held against the figures of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kvaudit.core.errors import UsageError
from kvaudit.core.gate import GateBudget
from kvaudit.core.gate_figures import AT, FIGURES, Unit, find_figure
from kvaudit.core.nearest import did_you_mean
from kvaudit.core.runs import Kind, Run

FAIL_UNDER, FAIL_OVER = "--fail-under", "--fail-over"


def parse_limits(option: str, values: Sequence[str]) -> dict[str, float]:
    """Read every ``NAME=LIMIT``; a limit of a share may be in per cent."""
    limits: dict[str, float] = {}
    for value in values:
        name, equals, text = (part.strip() for part in value.partition("="))
        if not equals:
            example = "hit-rate=0.6" if option == FAIL_UNDER else "leaks=0"
            raise UsageError(f"{option} {value}: write it as NAME=LIMIT, such as {example}")
        limits[name] = _limit(f"{option} {value}", option, name, text)
    return limits


def checked_limits(option: str, origin: str, table: Mapping[str, float | str]) -> dict[str, float]:
    """Check the limits of a table of the settings, which mean the same as ``option``."""
    return {
        name: _limit(f"{origin}: gate.{option[2:]}.{name} = {value}", option, name, str(value))
        for name, value in table.items()
    }


def _limit(given: str, option: str, name: str, text: str) -> float:
    figure = find_figure(name)
    if figure is None:
        raise UsageError(f"{given}: {name} is not a figure{did_you_mean(name, FIGURES)}")
    if figure.at_most != (option == FAIL_OVER):
        right = FAIL_OVER if figure.at_most else FAIL_UNDER
        worse = "more" if figure.at_most else "less"
        raise UsageError(f"{given}: of {name} {worse} is worse; use {right}")
    try:
        limit = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise UsageError(f"{given}: {text!r} is not a number") from None
    if figure.unit is Unit.SHARE and not 0 <= limit <= 1:  # also refuses nan
        raise UsageError(f"{given}: the limit must be from 0 to 1 (0 % to 100 %)")
    if figure.unit is not Unit.SHARE and (not 0 <= limit < float("inf") or text.endswith("%")):
        raise UsageError(f"{given}: {name} is in {figure.unit.value}; the limit must be 0 or more")
    return limit


def judge_runs(
    runs: Sequence[Run], floors: Mapping[str, float], ceilings: Mapping[str, float]
) -> list[GateBudget]:
    """Hold every limit against every run that can have the figure, and each run's own budgets."""
    budgets = [
        budget
        for limits in (floors, ceilings)
        for name, limit in sorted(limits.items())
        for budget in _of_figure(runs, name, limit)
    ]
    asked = {*floors, *ceilings}
    return [*budgets, *(b for run in runs for b in _own_budgets(run) if b.name not in asked)]


def _of_figure(runs: Sequence[Run], name: str, limit: float) -> Iterator[GateBudget]:
    figure = find_figure(name)
    assert figure is not None, "names are checked when limits are read"
    having = [run for run in runs if run.kind in figure.read]
    if not having:
        kinds = " or ".join(f"kvaudit {kind}" for kind in figure.read)
        note = f"it is a figure of {kinds}, and no such run was given"
        yield _budget(name, limit, None, None, at_most=figure.at_most, note=note)
    values = [(run, figure.value(run)) for run in having]
    # A replay without a semantic cache says nothing of leaks where the run of a key does.
    known = [(run, value) for run, value in values if value is not None]
    for run, value in known or values:
        yield _budget(
            name, limit, value, run.path, at_most=figure.at_most, note=_note(run, name, value)
        )


def _note(run: Run, name: str, value: float | None) -> str | None:
    if value is None:
        if name.startswith(AT):
            return "the sweep has no such capacity"
        return "the run holds no such figure"
    if run.kind is Kind.SWEEP and name == "hit-rate" and len(run.rows("curve")) > 1:
        return "the least of the sweep's capacities; hit-rate@BLOCKS asks for one"
    if run.kind is Kind.KEYS and len(run.rows("keys")) > 1:
        return "the most of the run's keys"
    if run.kind is Kind.REPLAY and name == "hit-rate" and run.at("prefix", "bounds") is not None:
        return "the lower bound"
    return None


def _own_budgets(run: Run) -> Iterator[GateBudget]:
    """Yield the budgets that a replay was called with, as it judged them."""
    for row in run.rows("budgets"):
        name, limit = row.text("name"), row.number("limit")
        if name is not None and limit is not None:
            yield _budget(
                name,
                limit,
                row.number("value"),
                run.path,
                at_most=row.at("at_most") is True,
                note="a budget of the run itself",
            )


def _budget(
    name: str,
    limit: float,
    value: float | None,
    run: str | None,
    *,
    at_most: bool,
    note: str | None,
) -> GateBudget:
    met = value is not None and (value <= limit if at_most else value >= limit)
    return GateBudget(
        name=name, limit=limit, value=value, passed=met, at_most=at_most, run=run, note=note
    )
