"""Strings inside JSON files, with the place in the file of each of their characters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from json import JSONDecoder
from typing import TypeVar

from kvaudit.core.document import Document, Observation, Segment, Step
from kvaudit.core.sources import Source, Span

_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)"
)


_DECODER = JSONDecoder(strict=False)  # line breaks inside strings are common in such files
_Part = TypeVar("_Part", Segment, Observation, Step)


@dataclass(frozen=True, slots=True)
class Embedded:
    """A text inside a file, and where each of its characters stands there."""

    outer: Source
    inner: Source
    offsets: list[int]
    """One more than the text has characters: the last is where it ends."""

    def span(self, span: Span) -> Span:
        """Return where in the file a span of the text stands."""
        return Span(self.offsets[span.start], self.offsets[span.end])


def string_at(source: Source, quote: int) -> Embedded:
    """Return the JSON string whose opening quote stands at an offset; raises ValueError."""
    text, end = _DECODER.raw_decode(source.text, quote)
    offsets: list[int] = []
    at = quote + 1
    while at < end - 1:
        escape = _ESCAPE.match(source.text, at) if source.text[at] == "\\" else None
        offsets.append(at)
        at = escape.end() if escape else at + 1
    offsets.append(end - 1)
    return Embedded(source, Source(source.path, text), offsets)


def strings_under(source: Source, key: str, start: int, stop: int) -> Iterator[Embedded]:
    """Yield the strings that stand directly behind a key, between two offsets."""
    for found in re.compile(rf'"{key}"\s*:\s*(?=")').finditer(source.text, start, stop):
        yield string_at(source, found.end())


def relocated(document: Document, embedded: Embedded) -> Document:
    """Return a document of the inner text as one of the file."""
    return replace(
        document,
        source=embedded.outer,
        segments=[_placed(segment, embedded) for segment in document.segments],
        observations=[_placed(seen, embedded) for seen in document.observations],
    )


def _placed(part: _Part, embedded: Embedded) -> _Part:
    if isinstance(part, Segment | Observation):
        part = replace(part, trail=[_placed(step, embedded) for step in part.trail])
    if part.source is not embedded.inner:
        return part
    return replace(part, source=embedded.outer, span=embedded.span(part.span))
