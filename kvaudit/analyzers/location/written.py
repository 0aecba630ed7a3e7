"""Where a template writes a value, which need not be where the value comes from.

Readers place an expression where its value arises: a caller's argument, an assignment. The line to
change is the one that puts it into the text, between the fixed texts beside it.
"""

from __future__ import annotations

import re

from kvaudit.core.document import Document, Segment
from kvaudit.core.sources import Source, Span

_HOLE = r"[{$%<\[][^\n]{0,120}?"
"""How a value's place in a text begins, in any of the languages."""
_MOST_CHARS = 400
"""Between two fixed texts of one file may stand more than one expression, but no other code."""


def written_at(document: Document, number: int) -> tuple[Source, Span]:
    """Return the place in the files at which segment ``number``, an expression, is written."""
    segment = document.segments[number]
    before = _literal(document, number - 1, segment)
    after = _literal(document, number + 1, segment)
    between = _between(before, after)
    if between is None:
        between = _beside(segment, before, after)
    if between is None or _holds(between, segment):
        return segment.source, segment.span
    return between


def _literal(document: Document, number: int, segment: Segment) -> Segment | None:
    if not 0 <= number < len(document.segments):
        return None
    found = document.segments[number]
    return found if found.text is not None and found.block == segment.block else None


def _between(before: Segment | None, after: Segment | None) -> tuple[Source, Span] | None:
    if before is None or after is None or before.source.path != after.source.path:
        return None
    if before.span == after.span:
        return _inside(before, after)
    start, end = before.span.end, after.span.start
    if not start <= end <= start + _MOST_CHARS:
        return None
    return before.source, _trimmed(before.source, start, end)


def _inside(before: Segment, after: Segment) -> tuple[Source, Span] | None:
    """Return the hole between two pieces of one string, which a reader places as a whole.

    Line ends may be written as such or as escapes, so that only what stands in the hole's own line
    is looked for.
    """
    head, tail = (before.text or "").rpartition("\n")[2], (after.text or "").partition("\n")[0]
    if not (head.strip() or tail.strip()):
        return None
    source, span = before.source, before.span
    hole = re.compile(f"{re.escape(head)}(?P<hole>{_HOLE}){re.escape(tail)}")
    found = hole.search(source.text, span.start, span.end)
    return None if found is None else (source, Span(*found.span("hole")))


def _beside(
    segment: Segment, before: Segment | None, after: Segment | None
) -> tuple[Source, Span] | None:
    """Return the place beside the one fixed text that stands in the expression's own file."""
    if after is not None and after.source.path == segment.source.path:
        line = after.source.place(after.span.start).line
        start = after.source.offset(line)
        return after.source, _trimmed(after.source, start, after.span.start)
    if before is not None and before.source.path == segment.source.path:
        line = before.source.place(before.span.end).line
        end = before.source.offset(line) + len(before.source.line(line))
        return before.source, _trimmed(before.source, before.span.end, end)
    return None


def _trimmed(source: Source, start: int, end: int) -> Span:
    text = source.text[start:end]
    if not text.strip():
        return Span(start, end)
    return Span(start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip()))


def _holds(place: tuple[Source, Span], segment: Segment) -> bool:
    source, span = place
    same = source.path == segment.source.path
    return same and span.start <= segment.span.start and segment.span.end <= span.end
