"""The result as GitHub's Markdown, for the summary of a job or a comment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kvaudit.core.console import Screen
from kvaudit.core.gate import GateReport
from kvaudit.core.redact import one_line
from kvaudit.report.gated import change_cells, failures, said
from kvaudit.report.sheet import Sheet, filled, shown

_MEANT = re.compile(r"([\\`*_{}\[\]<>#|~])")


def gate(report: GateReport, screen: Screen) -> str:
    """Return the verdict as a heading and the budgets and changes as tables."""
    sign = "✅" if report.passed else "❌" if failures(report) else "⚠️"
    parts = [f"### {sign} kvaudit gate", escaped(report.reason)]
    if report.budgets:
        rows = [
            (
                b.name,
                f"{'≤' if b.at_most else '≥'} {b.limit:g}",
                "none" if b.value is None else f"{b.value:.6g}",
                said(b.passed),
                "; ".join(text for text in (b.run, b.note) if text),
            )
            for b in report.budgets
        ]
        parts.append(table(("budget", "limit", "value", "", "run"), rows))
    if report.changes:
        heads = ("against the baseline", "then", "now", "difference", "at 95 %", "")
        parts.append(table(heads, [change_cells(change) for change in report.changes]))
    if report.notes:
        parts.append("\n".join(f"- {escaped(note)}" for note in report.notes))
    return "\n\n".join(parts) + "\n"


def finished(sheet: Sheet, screen: Screen) -> str:
    """Return a finished run as headings, facts and tables."""
    parts = [f"# {escaped(sheet.title)}"]
    if sheet.facts:
        parts.append("\n".join(f"- **{escaped(n)}**: {escaped(v)}" for n, v in sheet.facts))
    for each in map(filled, sheet.tables):
        rows = [[shown(cell) for cell in row] for row in each.rows]
        parts += [f"## {escaped(each.title)}", table(each.heads, rows)]
    if sheet.notes:
        parts.append("\n".join(f"- {escaped(note)}" for note in sheet.notes))
    return "\n\n".join(parts) + "\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; its cells are plain text."""
    return "\n".join(_table_lines(heads, rows))


def _table_lines(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield f"| {' | '.join(escaped(cell) for cell in row)} |"


def escaped(text: str) -> str:
    """Return a text of which Markdown makes nothing: names of files are anybody's."""
    return _MEANT.sub(r"\\\1", one_line(text))
