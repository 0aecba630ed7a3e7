"""The verdict of a gate in words: budgets, what changed against the baseline, one reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from kvaudit.core.gate import Change, GateBudget, GateReport
from kvaudit.core.redact import one_line
from kvaudit.core.verdict import budget_failure, change_sentence
from kvaudit.report.linted import hanging

Lines = Iterator[Text]
_STYLES = {"passed": "green", "failed": "bold red", "not judged": "yellow"}


def failures(report: GateReport) -> list[str]:
    """Return a sentence for everything that failed."""
    missed = [budget_failure(budget) for budget in report.budgets if not budget.passed]
    return missed + [change_sentence(c) for c in report.changes if c.passed is False]


def budget_sentence(budget: GateBudget) -> str:
    """Say what a budget asked for, and what the run has."""
    if not budget.passed:
        return budget_failure(budget)
    bound = "at most" if budget.at_most else "at least"
    note = "" if budget.note is None else f"; {budget.note}"
    return f"{budget.name} is {budget.value:.6g}, {bound} {budget.limit:g} ({budget.run}{note})"


def said(passed: bool | None) -> str:
    """Return a verdict as a word."""
    return "not judged" if passed is None else "passed" if passed else "failed"


def gate_facts(report: GateReport) -> Iterator[tuple[str, object]]:
    """Yield the facts by name, the verdict last."""
    for budget in report.budgets:
        yield f"budget, {said(budget.passed)}", one_line(budget_sentence(budget))
    for change in report.changes:
        yield f"baseline, {said(change.passed)}", one_line(change_sentence(change))
    yield from (("note", one_line(note)) for note in _remarks(report))
    yield "gate", one_line(report.reason)


def gate_parts(report: GateReport, width: int) -> list[Lines]:
    """Return the parts of the screen."""
    return [
        _rows("budget", [(b.passed, budget_sentence(b)) for b in report.budgets], width),
        _rows("baseline", [(c.passed, change_sentence(c)) for c in report.changes], width),
        (line for note in _remarks(report) for line in hanging("  note  ", one_line(note), width)),
        hanging("", f"gate {one_line(report.reason)}", width, _style(report)),
    ]


def _style(report: GateReport) -> str:
    return "bold green" if report.passed else "bold red" if failures(report) else "bold yellow"


def _rows(label: str, rows: Sequence[tuple[bool | None, str]], width: int) -> Lines:
    for passed, text in rows:
        word = said(passed)
        yield from hanging(f"  {label:8}  {word:10}  ", one_line(text), width, _STYLES[word])


def _remarks(report: GateReport) -> Iterator[str]:
    """Yield the notes but for the sentences that the changes themselves already say."""
    shown = {change_sentence(change) for change in report.changes}
    return (note for note in report.notes if note not in shown)


def change_cells(change: Change) -> tuple[str, ...]:
    """Return a change as the cells of a table: name, before, now, difference, verdict."""
    within = "exact" if change.low is None else f"{change.low:+.4g} to {change.high:+.4g}"
    if change.passed is None:
        within = "not judged"
    return (
        change.name,
        f"{change.baseline_value:.6g}",
        f"{change.value:.6g}",
        f"{change.difference:+.6g}",
        within,
        said(change.passed),
    )
