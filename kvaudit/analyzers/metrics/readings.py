"""What counters and gauges say over the samples.

A counter is what it grew by from the first sample to the last, or since the engine started where
there is one sample. One that falls was reset by a restart and counts from 0 again, as Prometheus's
``increase`` has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from kvaudit.analyzers.metrics.exposition import Labels, Sample, series_of
from kvaudit.analyzers.metrics.sheets import FigureEntry, RateEntry, Ref, Sheet
from kvaudit.core.engine_metrics import Basis, Figure, MeasuredRate


def grown(samples: Sequence[Sample], ref: Ref, *, fallback: Labels = ()) -> float | None:
    """Return the growth of a counter, its series added up; None where the engine has none.

    A counter with labels has no series before its first increase, but it is declared: that is 0.
    """
    if not any(sample.has(ref.name) for sample in samples):
        return None
    firsts = _series(samples[0], ref, fallback)
    total = 0.0
    known = dict(firsts) if len(samples) > 1 else dict.fromkeys(firsts, 0.0)
    for sample in samples[1:] or samples:
        for labels, value in _series(sample, ref, fallback).items():
            before = known.get(labels, 0.0)
            total += value - before if value >= before else value
            known[labels] = value
    return total


def _series(sample: Sample, ref: Ref, fallback: Labels) -> dict[Labels, float]:
    found = dict(series_of(sample, ref.name, ref.where))
    split = {labels: v for labels, v in found.items() if not set(fallback) <= set(labels)}
    return split if split and fallback else found


def grown_in_all(
    samples: Sequence[Sample], refs: Sequence[Ref], *, fallback: Labels = ()
) -> float | None:
    """Return the growth of several counters together; None where one is not known."""
    parts = [grown(samples, ref, fallback=fallback) for ref in refs]
    known = [part for part in parts if part is not None]
    return sum(known) if known and len(known) == len(parts) else None


def gauge(sample: Sample, ref: Ref, combine: str = "sum") -> float | None:
    """Return a gauge, its series combined; None where the sample has none."""
    values = [value for _, value in series_of(sample, ref.name, ref.where)]
    if not values:
        return None
    return max(values) if combine == "max" else sum(values)


def resets(samples: Sequence[Sample], sheet: Sheet) -> bool:
    """Whether a counter of the engine's rates fell between two samples."""
    refs = {ref for rate in sheet.rates for ref in (*rate.hits, *rate.of) if rate.of}
    return any(
        value < dict(series_of(before, ref.name, ref.where)).get(labels, 0.0)
        for before, after in pairwise(samples)
        for ref in refs
        for labels, value in series_of(after, ref.name, ref.where)
    )


def rates(samples: Sequence[Sample], sheet: Sheet) -> Iterator[MeasuredRate]:
    """Yield the rates whose metrics the engine has."""
    for entry in sheet.rates:
        rate = _counted(samples, entry) if entry.of else _gauged(samples[-1], entry)
        if rate is not None:
            yield rate


def _counted(samples: Sequence[Sample], entry: RateEntry) -> MeasuredRate | None:
    hits = grown_in_all(samples, entry.hits, fallback=entry.fallback)
    total = grown_in_all(samples, entry.of)
    only_some = any(ref.where for ref in entry.hits)
    if hits is None or total is None or (only_some and not hits):
        return None
    rate = hits / total if total else None
    return _rate(entry, rate, hits, total)


def _gauged(sample: Sample, entry: RateEntry) -> MeasuredRate | None:
    values = [value for _, value in series_of(sample, *entry.hits[0])]
    # Rates of several engines cannot be added up, and their mean has no meaning either.
    return _rate(entry, values[0], None, None) if len(values) == 1 else None


def _rate(
    entry: RateEntry, rate: float | None, hits: float | None, total: float | None
) -> MeasuredRate:
    return MeasuredRate(
        name=entry.name,
        hit_rate=rate,
        hits=hits,
        total=total,
        unit=entry.unit,
        basis=entry.basis,
        definition=entry.definition,
    )


def first_counted(found: Sequence[MeasuredRate]) -> float | None:
    """Return the engine's hit rate: the first that was counted."""
    return next(
        (r.hit_rate for r in found if r.basis is Basis.COUNTED and r.hit_rate is not None), None
    )


def figures(samples: Sequence[Sample], sheet: Sheet) -> Iterator[Figure]:
    """Yield the figures whose metrics the engine has."""
    for entry in sheet.figures:
        value = _figure(samples, entry)
        if value is not None:
            yield Figure(name=entry.name, value=value, unit=entry.unit, meaning=entry.meaning)


def _figure(samples: Sequence[Sample], entry: FigureEntry) -> float | str | None:
    name, where = entry.metric
    if entry.kind == "counter":
        return grown(samples, entry.metric)
    if entry.kind == "mean":
        total = grown(samples, Ref(f"{name}_sum", where))
        count = grown(samples, Ref(f"{name}_count", where))
        return total / count if total is not None and count else None
    if entry.kind == "label":
        found = {
            dict(labels)[entry.label]
            for labels, _ in series_of(samples[-1], name, where)
            if entry.label in dict(labels)
        }
        return ", ".join(sorted(found)) or None
    return gauge(samples[-1], entry.metric, entry.combine)
