"""Fixed text that a prompt says twice, the second time behind something that changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kvaudit.analyzers.sizes import estimate_tokens
from kvaudit.core.document import Observation, Segment, Volatility
from kvaudit.core.sources import Span

MIN_TOKENS = 200
"""Shorter repetitions are reminders."""

_EMPTY_LINE = re.compile(r"\n[ \t\r]*+\n")


def repeats(segments: Sequence[Segment]) -> Iterator[Observation]:
    """Yield one observation for each run of paragraphs that stood before a variable already."""
    seen: dict[str, int] = {}
    variables = 0
    for segment in segments:
        if segment.text is None:
            variables += segment.volatility >= Volatility.TURN
            continue
        run: list[Span] = []
        for start, end in _paragraphs(segment):
            key = " ".join(segment.text[start:end].split())
            if seen.setdefault(key, variables) < variables:
                run.append(Span(start, end))
            else:
                yield from _reported(segment, run)
                run = []
        yield from _reported(segment, run)


def _paragraphs(segment: Segment) -> Iterator[Span]:
    text = segment.text or ""
    breaks = [found.span() for found in _EMPTY_LINE.finditer(text)]
    starts = [0, *(end for _, end in breaks)]
    ends = [*(start for start, _ in breaks), len(text)]
    for start, end in zip(starts, ends, strict=True):
        said = text[start:end].strip()
        if said:
            begin = text.index(said, start)
            yield Span(begin, begin + len(said))


def _reported(segment: Segment, run: Sequence[Span]) -> Iterator[Observation]:
    if not run or segment.text is None:
        return
    tokens = estimate_tokens(segment.text[run[0].start : run[-1].end])
    if tokens < MIN_TOKENS:
        return
    exact = len(segment.text) == segment.span.end - segment.span.start
    offset = segment.span.start
    span = Span(offset + run[0].start, offset + run[-1].end) if exact else segment.span
    yield Observation(
        kind="static-repeated",
        source=segment.source,
        span=span,
        detail=f"about {tokens} tokens stand before the variable part already",
        position=segment.position,
        lost_tokens=tokens,
    )
