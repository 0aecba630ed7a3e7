"""Strings inside JSON files, with the place in the file of each of their characters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from json import JSONDecoder
from typing import TypeVar

from kvaudit.analyzers.template.structure.node import Kind, Node, character_starts
from kvaudit.core.document import Document, Observation, Segment, Step
from kvaudit.core.sources import Source, Span

_DECODER = JSONDecoder(strict=False)  # line breaks inside strings are common in such files
_Part = TypeVar("_Part", Segment, Observation, Step)


@dataclass(frozen=True, slots=True)
class Embedded:
    """A text inside a file, and where each of its characters stands there."""

    outer: Source
    inner: Source
    offsets: Sequence[int]
    """One more than the text has characters: the last is where it ends."""

    def span(self, span: Span) -> Span:
        """Return where in the file a span of the text stands."""
        return Span(self.offsets[span.start], self.offsets[span.end])


def string_at(source: Source, quote: int) -> Embedded:
    """Return the JSON string whose opening quote stands at an offset; raises ValueError."""
    text, end = _DECODER.raw_decode(source.text, quote)
    escaped = source.text.find("\\", quote, end) >= 0
    node = Node(Kind.TEXT, Span(quote, end), text, escaped=escaped)
    starts = character_starts(source.text, node)
    if starts is None:
        raise ValueError("the places of its characters cannot be told")
    return Embedded(source, Source(source.path, text), starts)


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
