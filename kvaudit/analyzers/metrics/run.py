"""From the texts of metrics to what they say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kvaudit.analyzers.metrics.exposition import Sample, read_exposition
from kvaudit.analyzers.metrics.leaks import leaks, occupancy
from kvaudit.analyzers.metrics.readings import figures, first_counted, rates
from kvaudit.analyzers.metrics.sheets import Sheet, sheets
from kvaudit.analyzers.metrics.symptoms import missing, symptoms
from kvaudit.core.engine_metrics import EngineReading, MetricsReport
from kvaudit.core.errors import InputError

ONE_SAMPLE = "since the engine started, or since its counters were reset"


def examine(texts: Iterable[tuple[str, str]]) -> MetricsReport:
    """Return what the metrics say; ``texts`` are pairs of source and text, in order of time.

    Raises `InputError` for a text without metrics.
    """
    sources: list[str] = []
    samples: list[Sample] = []
    unread = 0
    for source, text in texts:
        found = read_exposition(text)
        if not found.samples:
            raise InputError(
                f"{source}: holds no metrics in Prometheus's text format, such as "
                'vllm:prefix_cache_hits_total{engine="0"} 152864; name what the engine shows at '
                "/metrics"
            )
        if source not in sources:
            sources.append(source)
        samples += found.samples
        unread += found.unread_lines
    engines = list(_readings(samples))
    return MetricsReport(
        sources=sources,
        samples=len(samples),
        window=ONE_SAMPLE if len(samples) == 1 else f"from sample 1 to sample {len(samples)}",
        series=sum(len(series) for series in samples[-1].series.values()),
        unread_lines=unread,
        engines=engines,
        notes=list(_notes(samples, engines)),
    )


def _readings(samples: Sequence[Sample]) -> Iterator[EngineReading]:
    for name, sheet in sheets().items():
        own = [sample for sample in samples if _is_of(sample, sheet)]
        if not own:
            continue
        found = list(rates(own, sheet))
        yield EngineReading(
            engine=name,
            title=sheet.title,
            names_from=sheet.names_from,
            hit_rate=first_counted(found),
            rates=found,
            figures=list(figures(own, sheet)),
            occupancy=list(occupancy(own, sheet)),
            missing=missing(own, sheet),
            findings=[*leaks(own, sheet), *symptoms(own, sheet)],
        )


def _is_of(sample: Sample, sheet: Sheet) -> bool:
    return any(name.startswith(tuple(sheet.prefixes)) for name in sample.series)


def _notes(samples: Sequence[Sample], engines: Sequence[EngineReading]) -> Iterator[str]:
    if not engines:
        known = ", ".join(sheet.title for sheet in sheets().values())
        yield f"no metric is of an engine that kvaudit knows: {known}"
    elif len(samples) == 1:
        yield (
            "one sample: counters are of the whole life of the engine, and whether KV is given "
            "back cannot be told; --samples N, or several files in order of time, can"
        )
