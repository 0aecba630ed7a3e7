"""What looks wrong in an engine's metrics, and what they do not say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvaudit.analyzers.metrics.exposition import Sample, series_of
from kvaudit.analyzers.metrics.readings import gauge, grown, grown_in_all, resets
from kvaudit.analyzers.metrics.sheets import CheckEntry, Sheet
from kvaudit.core.engine_metrics import MetricFinding
from kvaudit.core.findings import Severity


def symptoms(samples: Sequence[Sample], sheet: Sheet) -> Iterator[MetricFinding]:
    """Yield what looks wrong, in the order of the sheet."""
    for entry in sheet.checks:
        message = _message(samples, entry)
        if message is not None:
            yield MetricFinding(check=entry.check, severity=entry.severity, message=message)
    if resets(samples, sheet):
        yield MetricFinding(
            check="counters-reset",
            severity=Severity.WARNING,
            message="a counter fell from one sample to the next: the engine was restarted "
            "meanwhile, its cache with it, or the samples are not in the order of time",
        )


def _message(samples: Sequence[Sample], entry: CheckEntry) -> str | None:
    if entry.more:
        more, than = grown_in_all(samples, entry.more), grown_in_all(samples, entry.than)
        if more is None or than is None or more <= than * (1 + entry.by):
            return None
        return entry.says.format(more=f"{more:,.0f}", than=f"{than:,.0f}")
    if entry.grows is not None:
        value = grown(samples, entry.grows)
        return entry.says.format(value=f"{value:,.0f}") if value else None
    if entry.zero is not None:
        return entry.says if gauge(samples[-1], entry.zero) == 0 else None
    assert entry.labelled is not None
    found = any(True for _ in series_of(samples[-1], *entry.labelled))
    return entry.says if found else None


def missing(samples: Sequence[Sample], sheet: Sheet) -> list[str]:
    """Return what cannot be said, and why."""
    newest = samples[-1]
    unknown = [
        entry.says
        for entry in sheet.missing
        if not any(newest.has(ref.name) for ref in entry.none_of)
    ]
    return [*sheet.always_missing, *unknown]
