"""``{{ ... }}`` of Handlebars, Mustache, Dotprompt and Semantic Kernel, with exact offsets.

One tokenizer for all: comments, triple braces, raw blocks, escaped braces, white-space marks and
Mustache's change of delimiters. An opening that is never closed is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kvaudit.core.sources import Span

_DELIMITERS = re.compile(r"=\s*(\S{1,8})\s+(\S{1,8})\s*=")
_WORD = re.compile(r"\"[^\"]*+\"|'[^']*+'|\([^()]*+\)|[^\s()]+")
_SIGILS = "#/^>&*"


@dataclass(frozen=True, slots=True)
class Curly:
    """A run of text (``tag`` is None) or one tag."""

    span: Span
    tag: str | None = None
    """What stands inside, without sigil and white-space marks."""
    sigil: str = ""
    """``#`` opens a block, ``/`` closes one, ``^`` is its other arm, ``>`` another file."""

    @property
    def words(self) -> list[str]:
        """Return the words of a tag; strings and what stands in brackets are one."""
        return _WORD.findall(self.tag or "")


def scan(text: str, part: Span) -> Iterator[Curly]:
    """Yield the tokens of a part of a text, without a gap but for comments."""
    opening, closing = "{{", "}}"
    at = begun = part.start
    while True:
        start = text.find(opening, at, part.end)
        end = _end(text, start, closing, part.end) if start >= 0 else -1
        if start < 0 or end < 0:
            break
        if text.startswith("\\", max(start - 1, part.start)):
            at = start + len(opening)
            continue
        if start > begun:
            yield Curly(Span(begun, start))
        inner = text[start + len(opening) : end].strip("{}~ \t\r\n")
        at = begun = _closed(text, end, closing)
        change = _DELIMITERS.fullmatch(inner)
        if change is not None:
            opening, closing = change[1], change[2]
        elif not inner.startswith("!"):
            sigil = inner[0] if inner and inner[0] in _SIGILS else ""
            body = inner[len(sigil) :].strip("~ \t\r\n")
            yield Curly(Span(start, begun), body, sigil)
    if begun < part.end:
        yield Curly(Span(begun, part.end))


def _end(text: str, start: int, closing: str, stop: int) -> int:
    """Return where the closing delimiter of the tag begins, -1 without one."""
    if text.startswith("{{!--", start):
        end = text.find("--", start + 5, stop)
        while end >= 0 and not text.startswith(closing, end + 2):
            end = text.find("--", end + 1, stop)
        return end + 2 if end >= 0 else -1
    return text.find(closing, start + 2, stop)


def _closed(text: str, end: int, closing: str) -> int:
    """Return where a tag ends: a third or fourth brace belongs to it."""
    end += len(closing)
    while closing == "}}" and text.startswith("}", end):
        end += 1
    return end
