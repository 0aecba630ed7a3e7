"""Text in a recorded request that cannot be the same in the next: told by its form alone.

A memory address, a signed link, a header of the transport. A date or an id in a recorded body is
none: whether it changes is only seen in the next body.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kvaudit.core.document import Evidence, Origin, Position

_ADDRESS = re.compile(r"<[\w.]+ (?:object|function|method|of )?[^<>\n]{0,80}?at 0x[0-9a-fA-F]{6,}>")
_OBJECT = re.compile(r"\[object (?:Object|Promise|Undefined)\]")
_SIGNED = re.compile(
    r"https?://[^\s\"'<>)\]]{1,2000}[?&](?:X-Amz-Signature|X-Goog-Signature|sig|Signature)="
    r"[^\s\"'<>)\]]*"
)
_SIGNED_WORDS = ("ignature=", "sig=")
"""One of them stands in every signed link; a text has many parts, each of which is looked at."""
_TRANSPORT = re.compile(r"\s*(?:x-[a-z][\w-]*|[a-z][\w-]*-header)[ \t]*:[^\n]*", re.IGNORECASE)
_PREFIX = (Position.TOOLS, Position.SYSTEM)


class Oddity(NamedTuple):
    """A run of characters; without an origin it is ordinary text."""

    start: int
    end: int
    origin: Origin | None = None
    evidence: Evidence = Evidence.DATAFLOW


def oddities(
    text: str, start: int, end: int, position: Position, *, first: bool
) -> Iterator[Oddity]:
    """Yield what changes with every request, in order; ``first`` text may be a header."""
    at = start
    if first and position is Position.SYSTEM:
        header = _TRANSPORT.match(text, start, end)
        if header is not None:
            yield Oddity(start, header.end(), Origin.TRANSPORT, Evidence.NAME)
            at = header.end()
    found: list[Oddity] = []
    if position in _PREFIX:
        for pattern in (_ADDRESS, _OBJECT):
            found += [
                Oddity(m.start(), m.end(), Origin.OBJECT_REPR)
                for m in pattern.finditer(text, at, end)
            ]
    if position < Position.NEWEST and any(text.find(word, at, end) >= 0 for word in _SIGNED_WORDS):
        found += [
            Oddity(m.start(), m.end(), Origin.SIGNED_URL, Evidence.BINDING)
            for m in _SIGNED.finditer(text, at, end)
        ]
    yield from sorted(found)
