"""Sentences about a lint result that the text formats share."""

from __future__ import annotations

from kvaudit.core.lint_report import LintReport, ReportedFinding
from kvaudit.report.figures import plural

NAMED = 3
"""More files than this that were skipped for one reason are counted, not named."""


def lost(finding: ReportedFinding) -> str | None:
    """Say what a finding costs, as an estimate."""
    if not finding.lost_tokens:
        return None
    whose = {
        "session": "on every request",
        "fleet": "whenever the value changes",
    }.get(finding.scope or "", "a request")
    return f"about {plural(finding.lost_tokens, 'token')} {whose}"


def sentences(*parts: str | None) -> str:
    """Return phrases as sentences, one after the other."""
    return " ".join(
        part[0].upper() + part[1:] + ("" if part.endswith((".", "?", "!")) else ".")
        for part in parts
        if part
    )


def closing(report: LintReport) -> str:
    """Return the line that closes a run."""
    counts = report.counts
    found = [
        plural(counts.error, "error"),
        plural(counts.warning, "warning"),
        f"{counts.info:,} info",
    ]
    parts = [
        f"{plural(report.checked, 'file')} checked",
        plural(report.documents, "prompt"),
        ", ".join(found) if any((counts.error, counts.warning, counts.info)) else "no findings",
    ]
    further = {
        "fixed": report.fixed,
        "suppressed": report.suppressed,
        "in baseline": report.in_baseline,
        "not new": report.not_new,
        "skipped": len(report.skipped),
    }
    return " · ".join([*parts, *(f"{count:,} {what}" for what, count in further.items() if count)])


def skipped(report: LintReport) -> list[tuple[str, str]]:
    """Return (files, reason) of what was not checked; many files of one reason are counted."""
    reasons: dict[str, list[str]] = {}
    for file in report.skipped:
        reasons.setdefault(file.reason, []).append(file.path)
    return [
        (path, reason)
        for reason, paths in reasons.items()
        for path in (paths if len(paths) <= NAMED else [f"{len(paths):,} files"])
    ]


def remarks(report: LintReport) -> list[str]:
    """Return what the user must know beside the findings."""
    stale = [f"the baseline has an entry that matches nothing: {e}" for e in report.stale_baseline]
    said = [*report.notes, *stale]
    if not report.checked:
        why = (
            "all files were skipped"
            if report.skipped
            else "no file here is of a kind that it reads"
        )
        said.append(f"kvaudit has checked nothing: {why}")
    return said
