"""A lint result as one line a finding, for pipes and for the log of a step of CI."""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.core.findings import LintResult
from kvaudit.core.lint_report import ReportedFinding
from kvaudit.core.redact import one_line
from kvaudit.report.lint_wording import closing, lost, remarks
from kvaudit.report.linting import lint_report


def lint_lines(result: LintResult) -> Iterator[str]:
    """Yield ``path:line:column: severity[rule] message``, and the summary as the last."""
    report = lint_report(result)
    yield from map(_finding, report.findings)
    yield from (f"{one_line(file.path)}: skipped: {file.reason}" for file in report.skipped)
    yield from (f"note: {one_line(remark)}" for remark in remarks(report))
    yield f"summary: {closing(report)}"


def _finding(finding: ReportedFinding) -> str:
    cost = lost(finding)
    where = f"{one_line(finding.path)}:{finding.line}:{finding.column}"
    price = f" ({cost})" if cost else ""
    return f"{where}: {finding.severity}[{finding.rule}] {finding.message}{price}"
