"""KV that stays in use though nobody could be using it: what a leak looks like from outside.

An engine that gives its blocks back shows none in use once it is idle, and one that keeps cached
blocks shows no more of them unless something was served. So what is looked at is occupancy in
samples at which no request runs or waits, and growth between samples without traffic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from kvaudit.analyzers.metrics.exposition import Labels, Sample, series_of
from kvaudit.analyzers.metrics.sheets import OccupancyEntry, Ref, Sheet
from kvaudit.core.engine_metrics import MetricFinding, Occupancy
from kvaudit.core.findings import Severity

RISES = "occupancy-rises-without-traffic"
HELD = "kv-held-without-requests"


class _Moment(NamedTuple):
    """One sample of one engine."""

    number: int
    """From 1."""
    held: float
    busy: float | None
    served: float | None
    """Counters of traffic, added up."""


def occupancy(samples: Sequence[Sample], sheet: Sheet) -> Iterator[Occupancy]:
    """Yield KV in use over the samples, one series an engine."""
    for entry in sheet.occupancy:
        for labels in _labels_of(samples, entry):
            moments = _moments(samples, entry, labels)
            yield Occupancy(
                name=_named(entry, labels),
                unit=entry.unit,
                holds=entry.holds,
                series=tuple((m.number, m.held, m.busy) for m in moments),
            )


def leaks(samples: Sequence[Sample], sheet: Sheet) -> Iterator[MetricFinding]:
    """Yield what looks like KV that is never given back."""
    for entry in sheet.occupancy:
        for labels in _labels_of(samples, entry):
            moments = _moments(samples, entry, labels)
            found = _rise(moments, entry) or _left_over(moments, entry)
            if found is not None:
                name = _named(entry, labels)
                yield MetricFinding(
                    check=found.check, severity=found.severity, message=f"{name} {found.message}"
                )


def _rise(moments: Sequence[_Moment], entry: OccupancyEntry) -> MetricFinding | None:
    """Return the largest rise that no request explains."""
    idle = [m for m in moments if m.busy == 0]
    pairs = list(pairwise(moments))
    quiet = [
        (a, b)
        for a, b in pairs
        if a.served is not None and a.served == b.served and not a.busy and not b.busy
    ]
    if entry.holds == "requests" and len(idle) > 1:
        # What requests hold is back to nothing whenever none runs, traffic between or not.
        quiet.append((idle[0], idle[-1]))
    rises = [(a, b) for a, b in quiet if b.held - a.held > entry.tolerance]
    if not rises:
        return None
    before, after = max(rises, key=lambda pair: pair[1].held - pair[0].held)
    return MetricFinding(
        check=RISES,
        severity=Severity.ERROR,
        message=f"rose from {_value(before.held, entry)} in sample {before.number} to "
        f"{_value(after.held, entry)} in sample {after.number}, with "
        + (
            "no request running or waiting at either"
            if after.busy == 0
            else "nothing served between"
        )
        + ": KV is not given back when requests end",
    )


def _left_over(moments: Sequence[_Moment], entry: OccupancyEntry) -> MetricFinding | None:
    """Return KV that is in use in the newest idle sample, where requests alone hold it."""
    idle = [m for m in moments if m.busy == 0]
    if entry.holds != "requests" or not idle or idle[-1].held <= entry.tolerance:
        return None
    last = idle[-1]
    return MetricFinding(
        check=HELD,
        severity=Severity.WARNING,
        message=f"is {_value(last.held, entry)} in sample {last.number} though no request runs or "
        "waits: some KV was not given back, or a transfer still holds it; a later sample tells",
    )


def _moments(samples: Sequence[Sample], entry: OccupancyEntry, labels: Labels) -> list[_Moment]:
    found = []
    for number, sample in enumerate(samples, 1):
        held = dict(series_of(sample, *entry.metric)).get(labels)
        if held is not None:
            busy = _added_up(sample, entry.busy, labels)
            found.append(_Moment(number, held, busy, _added_up(sample, entry.traffic, labels)))
    return found


def _added_up(sample: Sample, refs: Sequence[Ref], labels: Labels) -> float | None:
    """Return gauges or counters of the same engine, added up; None where none is known."""
    total: float | None = None
    for ref in refs:
        series = dict(series_of(sample, *ref))
        # Where labels are others, such as a queue's, all of the engines together are looked at.
        values = [series[labels]] if labels in series else list(series.values())
        if values:
            total = (total or 0.0) + sum(values)
    return total


def _labels_of(samples: Sequence[Sample], entry: OccupancyEntry) -> list[Labels]:
    return sorted({labels for sample in samples for labels, _ in series_of(sample, *entry.metric)})


def _named(entry: OccupancyEntry, labels: Labels) -> str:
    apart = [f"{name}={value}" for name, value in labels if name in ("engine", "worker_id", "pod")]
    return f"{entry.name} ({', '.join(apart)})" if apart else entry.name


def _value(value: float, entry: OccupancyEntry) -> str:
    return f"{100 * value:.1f} %" if entry.unit == "share" else f"{value:,.0f} {entry.unit}"
