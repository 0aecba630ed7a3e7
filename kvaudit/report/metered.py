"""The metrics of running engines as a person reads them, and as lines for pipes."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from kvaudit.core.engine_metrics import EngineReading, Figure, MetricsReport
from kvaudit.core.findings import Severity
from kvaudit.core.quantities import format_bytes
from kvaudit.core.redact import one_line
from kvaudit.report.figures import NONE, compact, percent, plural
from kvaudit.report.linted import hanging

Lines = Iterator[Text]
_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}
LABEL_WIDTH = 24


def metrics_parts(report: MetricsReport, width: int) -> list[Lines]:
    """Return the parts of the screen."""
    parts = [_head(report, width)]
    for engine in report.engines:
        parts += [
            _rates(engine),
            _figures(engine, width),
            _findings(engine, width),
            _missing(engine, width),
            _definitions(engine, width),
        ]
    return [*parts, _notes(report, width)]


def _head(report: MetricsReport, width: int) -> Lines:
    yield Text(f"kvaudit doctor {' '.join(map(one_line, report.sources))}", "bold")
    text = (
        f"{plural(report.samples, 'sample')}, the newest of {report.series:,} series; "
        f"counters are {report.window}"
    )
    yield from hanging("", text, width)
    if report.unread_lines:
        yield from hanging("", f"{plural(report.unread_lines, 'line')} could not be read", width)


def _rates(engine: EngineReading) -> Lines:
    columns = f"{'hit rate':>10}{'hits':>12}{'of':>12}" if engine.rates else ""
    yield Text.assemble((f"{engine.title:{LABEL_WIDTH}}", "bold"), (columns, "dim"))
    for rate in engine.rates:
        hits, total = (NONE if n is None else compact(round(n)) for n in (rate.hits, rate.total))
        unit = rate.unit if rate.hits is not None else ""
        row = f"  {rate.name:{LABEL_WIDTH - 2}}{percent(rate.hit_rate):>10}{hits:>12}{total:>12}"
        yield Text(f"{row} {unit}, {rate.basis}" if unit else f"{row}  {rate.basis}")


def _figures(engine: EngineReading, width: int) -> Lines:
    for figure in engine.figures:
        label = f"  {figure.name:{LABEL_WIDTH - 2}}{figure_value(figure):>10}  "
        yield from hanging(label, figure.meaning, width)


def figure_value(figure: Figure) -> str:
    """Return a figure with its unit, short."""
    value = figure.value
    if isinstance(value, str):
        return value
    if figure.unit == "share":
        return percent(value)
    if figure.unit == "bytes":
        return format_bytes(round(value))
    if figure.unit == "s":
        return f"{value:,.3g} s"
    return compact(round(value))


def _findings(engine: EngineReading, width: int) -> Lines:
    for finding in engine.findings:
        head = f"{finding.severity}[{finding.check}]: "
        lines = list(hanging("", head + one_line(finding.message), width))
        for number, line in enumerate(lines):
            if number:
                yield Text(f"  {line.plain}")
            else:
                style = _STYLES[finding.severity]
                yield Text.assemble((line.plain[: len(head)], style), line.plain[len(head) :])


def _missing(engine: EngineReading, width: int) -> Lines:
    for text in engine.missing:
        yield from hanging("  not said  ", text, width)


def _definitions(engine: EngineReading, width: int) -> Lines:
    for rate in engine.rates:
        yield from hanging(f"  {rate.name} = ", rate.definition, width, "dim")
    yield from hanging("  names of metrics: ", engine.names_from, width, "dim")


def _notes(report: MetricsReport, width: int) -> Lines:
    for note in report.notes:
        yield from hanging("  note  ", note, width)


def metrics_facts(report: MetricsReport) -> Iterator[tuple[str, object]]:
    """Yield the facts by name, one a line."""
    yield "samples", report.samples
    yield "counters", report.window
    for engine in report.engines:
        name = engine.engine
        yield f"{name}, hit rate", NONE if engine.hit_rate is None else f"{engine.hit_rate:.4f}"
        for rate in engine.rates:
            value = NONE if rate.hit_rate is None else f"{rate.hit_rate:.4f}"
            yield f"{name}, {rate.name} ({rate.basis})", value
        for figure in engine.figures:
            yield f"{name}, {figure.name}", figure_value(figure)
        for finding in engine.findings:
            yield f"{name}, {finding.severity}, {finding.check}", one_line(finding.message)
        for text in engine.missing:
            yield f"{name}, not said", text
    yield from (("note", note) for note in report.notes)
