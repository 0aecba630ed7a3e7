"""From a lint result to the one document that its formats print.

Every text in it has its credentials masked. Offsets become lines and columns here and nowhere
else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

from kvaudit.core.findings import Edit, Finding, Fix, LintResult
from kvaudit.core.lint_report import (
    LintReport,
    RelatedPlace,
    ReportedEdit,
    ReportedFinding,
    ReportedFix,
    SeverityCounts,
    SkippedFile,
)
from kvaudit.core.redact import mask_secrets, one_line
from kvaudit.core.sources import Source, Span


class Region(TypedDict):
    """Where a span stands; the end is the place behind its last character."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int


Naming = Callable[[str], str]
"""From the path of a source to the one that is printed."""


def lint_report(result: LintResult, naming: Naming = str) -> LintReport:
    """Return what is printed of a result.

    Services that show a repository, such as code scanning, look for files from its root, whatever
    folder kvaudit was called from; formats for them pass ``result.published``.
    """
    return LintReport(
        findings=[reported(finding, naming) for finding in result.findings],
        checked=result.checked,
        documents=result.documents,
        skipped=[
            SkippedFile(path=naming(s.path), reason=one_line(s.reason)) for s in result.skipped
        ],
        counts=SeverityCounts(**result.counts()),
        suppressed=result.suppressed,
        in_baseline=result.in_baseline,
        stale_baseline=list(result.stale),
        not_new=result.not_new,
        fixed=result.fixed,
        notes=[mask_secrets(note) for note in result.notes],
    )


def reported(finding: Finding, naming: Naming = str) -> ReportedFinding:
    """Return one finding as it is printed."""
    return ReportedFinding(
        code=finding.code,
        rule=finding.rule,
        severity=finding.severity.value,
        evidence=finding.evidence.value,
        **region(finding.source, finding.span, naming),
        message=one_line(mask_secrets(finding.message)),
        help=finding.help,
        doubt=finding.doubt.value if finding.doubt else None,
        lost_tokens=finding.lost_tokens,
        scope=finding.scope,
        related=[
            RelatedPlace(**region(r.source, r.span, naming), label=one_line(mask_secrets(r.label)))
            for r in finding.related
        ],
        fix=_fix(finding.fix, naming),
        fingerprint=finding.key,
    )


def region(source: Source, span: Span, naming: Naming = str) -> Region:
    """Return where a span stands."""
    start, end = source.place(span.start), source.place(span.end)
    return Region(
        path=naming(source.path),
        line=start.line,
        column=start.column,
        end_line=end.line,
        end_column=end.column,
    )


def _fix(fix: Fix | None, naming: Naming) -> ReportedFix | None:
    # A masked replacement would be a wrong one, so a fix that touches a secret is not shown.
    if fix is None or any(mask_secrets(e.replacement) != e.replacement for e in fix.edits):
        return None
    edits = [_edit(edit, naming) for edit in fix.edits]
    return ReportedFix(title=fix.title, safe=fix.safe, edits=edits)


def _edit(edit: Edit, naming: Naming) -> ReportedEdit:
    place: Any = region(edit.source, edit.span, naming)
    return ReportedEdit(**place, replacement=edit.replacement)
