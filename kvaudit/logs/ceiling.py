"""Texts that a log cut at a fixed length, told from the lengths alone.

LiteLLM, log shippers and database columns cut long texts, often without a mark. A prompt that
was cut has the same beginning as before but no end, so every prefix past the cut is fiction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from kvaudit.core.hash_rows import HashRows
from kvaudit.core.requests import Mark, Request
from kvaudit.core.summaries import Note

# So many requests are looked at before the first one is passed on.
_SAMPLE_REQUESTS = 50
# Different texts of one length, and other lengths below it, that make it a ceiling. One text
# in all requests is a system prompt; texts that are all as long were made that long.
_TEXTS = 3
_OTHER_LENGTHS = 3
_SHORTEST = 256
_NO_TEXT = -1


class LengthCeiling:
    """Follows the longest text of each request; marks those that end at the ceiling."""

    def __init__(self) -> None:
        """Start with no ceiling in sight."""
        self._longest = 0
        self._texts: set[int] = set()
        self._shorter: set[int] = set()
        self.marked = 0

    def passed_on(self, requests: Iterable[Request | HashRows]) -> Iterator[Request | HashRows]:
        """Yield the requests, with `Mark.TRUNCATED_PROMPT` where the prompt was cut.

        Those in columns have no text.
        """
        rest = iter(requests)
        first = list(islice(rest, _SAMPLE_REQUESTS))
        lengths = [self._see(request) for request in first]
        for request, length in zip(first, lengths, strict=True):
            yield self._mark(request, length)
        for request in rest:
            yield self._mark(request, self._see(request))

    def notes(self) -> list[Note]:
        """Return why requests were marked, if any were."""
        if not self.marked:
            return []
        text = (
            f"texts of exactly {self._longest:,} characters are taken for cut short: different "
            "ones end there and none is longer"
        )
        return [Note(topic="length-ceiling", text=text, count=self.marked)]

    def _see(self, request: Request | HashRows) -> int:
        """Return the length of the request's longest text."""
        if type(request) is HashRows:
            return _NO_TEXT
        assert type(request) is Request
        longest = "" if request.prompt is None else request.prompt
        for message in request.messages or ():
            content = message.get("content")
            if type(content) is str and len(content) > len(longest):
                longest = content
        length = len(longest)
        if length > self._longest:
            if self._texts and len(self._shorter) < _OTHER_LENGTHS:
                self._shorter.add(self._longest)
            self._longest = length
            self._texts = set()
        elif length < self._longest and len(self._shorter) < _OTHER_LENGTHS:
            self._shorter.add(length)
        if length == self._longest and len(self._texts) < _TEXTS:
            self._texts.add(hash(longest))
        return length

    def _mark(self, request: Request | HashRows, length: int) -> Request | HashRows:
        if length != self._longest or not self._is_ceiling():
            return request
        assert type(request) is Request
        self.marked += 1
        return replace(request, marks=request.marks | {Mark.TRUNCATED_PROMPT})

    def _is_ceiling(self) -> bool:
        return (
            self._longest >= _SHORTEST
            and len(self._texts) >= _TEXTS
            and len(self._shorter) >= _OTHER_LENGTHS
            and _is_round(self._longest)
        )


def _is_round(length: int) -> bool:
    """Return whether somebody may have chosen this length: 1,000s, and powers of two or so."""
    return length % 1000 == 0 or length % 256 == 0 or (length + 1) % 256 == 0
