"""Words and figures of a sweep that the text formats share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvaudit.core.curve import Choice, CurvePoint, GroupPoint, SweepReport
from kvaudit.core.quantities import format_bytes
from kvaudit.core.redact import one_line
from kvaudit.core.summaries import EngineSummary
from kvaudit.report.figures import NONE, compact, percent, plural, range_of
from kvaudit.report.swept_semantic import threshold_definitions, threshold_sentence
from kvaudit.report.wording import engine_title

OPTIMAL = (
    "eviction that knows the future, by the same rules for a hit; no cache of this size can hit "
    "more"
)


def engine_pieces(engine: EngineSummary) -> list[str]:
    """Return the engine line, piece by piece."""
    pieces = [*engine_title(engine), engine.policy]
    if engine.model:
        pieces.append(one_line(engine.model))
    return [*pieces, engine.schedule]


def possible(report: SweepReport) -> str:
    """Return the rate of the longest prefixes seen before."""
    if report.possible_bounds is None:
        return percent(report.possible_hit_rate)
    return range_of(report.possible_bounds.low, report.possible_bounds.high)


def share(value: float | None) -> str:
    """Return a rate as a plain number."""
    return NONE if value is None else f"{value:.4f}"


def blocks(point: CurvePoint | GroupPoint) -> str:
    """Return a capacity for a line that a program reads."""
    return "inf" if point.capacity_blocks is None else f"{point.capacity_blocks} blocks"


def curve_facts(name: str, points: Sequence[CurvePoint]) -> Iterator[tuple[str, object]]:
    """Yield (name, value) of every point."""
    for point in points:
        yield f"{name}, {blocks(point)}", share(point.hit_rate)
        if point.bounds is not None:
            ends = f"{point.bounds.low:.4f} to {point.bounds.high:.4f}"
            yield f"{name}, {blocks(point)}, range", ends


def room(choice: Choice) -> str:
    """Return a capacity in blocks, tokens and, where a model is known, bytes."""
    size = tokens(choice.capacity_tokens)
    if choice.capacity_bytes is not None:
        size += f", {format_bytes(choice.capacity_bytes)}"
    return f"{plural(choice.capacity_blocks, 'block')} ({size})"


def tokens(count: int) -> str:
    """Return a number of tokens with its noun."""
    return plural(count, "token") if count < 10**6 else f"{compact(count)} tokens"


def sweep_definitions(report: SweepReport) -> Iterator[tuple[str, str]]:
    """Yield (name, definition) of everything that is shown."""
    if report.definition is not None:
        yield "hit rate", report.definition
    bounds = [point.bounds for point in report.curve if point.bounds is not None]
    ranges = [ends for ends in bounds if percent(ends.low) != percent(ends.high)]
    if ranges:
        yield "range", ranges[0].definition
    if report.optimal:
        yield "optimal", OPTIMAL
    if report.recommended is not None:
        yield "enough", report.recommended.definition
    if report.knee is not None:
        yield "knee", report.knee.definition
    if report.engine is not None:
        yield "engine", report.engine.exactness
    yield from threshold_definitions(report.semantic)


def sweep_sentence(report: SweepReport) -> str:
    """Return the result in one sentence."""
    requests = plural(report.log.requests, "request")
    if report.semantic:
        return f"{requests}; {threshold_sentence(report.semantic)}"
    if report.engine is None:
        return f"{requests}, and no curve: this log does not say what was sent"
    if report.recommended is None:
        return f"{requests}: nothing was ever sent twice, so no capacity hits anything"
    return (
        f"{room(report.recommended)} are enough for {percent(report.recommended.hit_rate)} of the "
        f"prompt tokens of {requests}, {report.recommended.definition} ({report.exactness})"
    )
