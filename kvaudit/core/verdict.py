"""The verdict of a gate: its budgets and changes put together, and said in one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kvaudit.core.errors import Exit
from kvaudit.core.gate import Change, GateBudget, GateReport
from kvaudit.core.gating import judge_runs
from kvaudit.core.regression import changes, remarks
from kvaudit.core.runs import Run


def verdict(
    runs: Sequence[Run],
    bases: Sequence[Run],
    *,
    floors: Mapping[str, float],
    ceilings: Mapping[str, float],
    max_drop: float,
) -> GateReport:
    """Hold the runs against every limit and every baseline."""
    empty = [run.path for run in runs if run.requests == 0]
    full = [run for run in runs if run.path not in empty]
    budgets = judge_runs(full, floors, ceilings) if full else []
    moved = changes(full, bases, max_drop) if full else []
    missed = [budget_failure(b) for b in budgets if not b.passed]
    missed += [change_sentence(c) for c in moved if c.passed is False]
    judged = len(budgets) + sum(c.passed is not None for c in moved)
    notes = [f"{path}: nothing was checked in this run" for path in empty]
    notes += [change_sentence(c) for c in moved if c.passed is None]
    notes += remarks(full, bases)
    return GateReport(
        passed=bool(judged) and not missed and not empty,
        judged=judged,
        reason=_reason(missed, judged, empty, moved, bases),
        runs=[run.path for run in runs],
        budgets=budgets,
        changes=moved,
        notes=notes,
    )


def exit_code(report: GateReport) -> Exit:
    """Return 1 for what was missed, else 3 where a run was empty or nothing was judged."""
    if not all(b.passed for b in report.budgets) or any(c.passed is False for c in report.changes):
        return Exit.FINDINGS
    return Exit.OK if report.passed else Exit.NOTHING_CHECKED


def _reason(
    missed: Sequence[str],
    judged: int,
    empty: Sequence[str],
    moved: Sequence[Change],
    bases: Sequence[Run],
) -> str:
    if missed:
        more = f" (and {len(missed) - 1} more)" if len(missed) > 1 else ""
        return f"failed: {missed[0]}{more}"
    if empty:
        return f"nothing to judge: {empty[0]} is a run in which nothing was checked"
    if not judged and moved:
        return f"nothing to judge: {change_sentence(moved[0])}"
    if not judged and bases:
        return f"nothing to judge: {bases[0].path} holds no figure that the runs have too"
    if not judged:
        return (
            "nothing to judge: give --fail-under, --fail-over or --baseline, or set them in "
            "[tool.kvaudit.gate]"
        )
    held = sum(c.passed is True for c in moved)
    parts = [_counted(judged - held, "budget", "met"), _counted(held, "figure", "not worse")]
    return f"passed: {' and '.join(part for part in parts if part)}"


def _counted(count: int, noun: str, said: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'} {said}" if count else ""


def budget_failure(budget: GateBudget) -> str:
    """Say how a budget was missed."""
    bound, beyond = ("at most", "over") if budget.at_most else ("at least", "below")
    if budget.value is None:
        where = "" if budget.run is None else f" in {budget.run}"
        return (
            f"{budget.name} has no value{where}, and {bound} {budget.limit:g} was asked for: "
            f"{budget.note}"
        )
    note = "" if budget.note is None else f"; {budget.note}"
    return (
        f"{budget.name} is {budget.value:.6g}, {beyond} the {budget.limit:g} that was asked for "
        f"({budget.run}{note})"
    )


def change_sentence(change: Change) -> str:
    """Say how a figure moved against the baseline, and what follows."""
    if change.name == "new-findings":
        count = int(change.difference)
        return (
            f"{count} finding{'' if count == 1 else 's'} that the baseline {change.baseline} does "
            f"not have ({change.run})"
        )
    moved = f"{change.name} went from {change.baseline_value:.6g} to {change.value:.6g}"
    if change.passed is None:
        return f"{moved}, which is not judged: {change.basis} ({change.run})"
    worse = change.difference if change.at_most else -change.difference
    allowed = f", and {change.allowed:g} worse is allowed" if worse > 0 else ""
    if change.low is not None and change.high is not None:
        doubt = f" by {change.low:+.6g} to {change.high:+.6g}"
        proof = "" if change.passed is False or worse <= 0 else ", which may be chance"
        return f"{moved}{doubt} at 95 %{allowed}{proof} ({change.run}; {change.basis})"
    return f"{moved} on the same log{allowed} ({change.run})"
