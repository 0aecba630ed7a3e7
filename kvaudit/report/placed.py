"""Groups of a log as findings at places in files, for formats that show files."""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.core.findings import Severity
from kvaudit.core.lint_report import RelatedPlace, ReportedFinding
from kvaudit.core.why import DivergenceGroup, Location, WhyReport
from kvaudit.report.divergences import lost_sentence, what_if_sentence
from kvaudit.report.linting import Region

_LABELS = {
    "text": "fits as well: the same fixed text stands around it",
    "rule": "the same rule finds this too",
    "value": "the value comes from here",
}


def placed(report: WhyReport) -> Iterator[tuple[DivergenceGroup, ReportedFinding]]:
    """Yield the groups that have a place, each as a finding of the rule for its cause.

    Of places that fit alike the first is the finding's, and the others are related to it.
    """
    for group in report.groups:
        if group.locations:
            yield group, _finding(group, report)


def unplaced(report: WhyReport) -> list[DivergenceGroup]:
    """Return the groups that have no place."""
    return [group for group in report.groups if not group.locations]


def _finding(group: DivergenceGroup, report: WhyReport) -> ReportedFinding:
    first, *others = group.locations
    there = f": {first.expression}" if first.expression else ""
    return ReportedFinding(
        code=group.code or "",
        rule=first.rule or group.cause,
        severity=Severity.WARNING,
        evidence=first.evidence,
        **_region(first),
        message=f"measured on the log: {lost_sentence(group, report)}{there}",
        help=None if group.what_if is None else what_if_sentence(group.what_if),
        doubt=None,
        lost_tokens=None,
        scope=None,
        related=[RelatedPlace(**_region(other), label=_LABELS[other.by]) for other in others],
        fix=None,
        fingerprint=None,
    )


def _region(place: Location) -> Region:
    return {
        "path": place.published or place.path,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
    }
