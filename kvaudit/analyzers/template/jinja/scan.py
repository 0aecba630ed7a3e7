"""Jinja source cut into tags and the text between them, with exact offsets.

Jinja's own lexer forgets the text that white-space control removes and the nodes it gives know
lines only, so tags are found here. What comes out covers the source without a gap. Line
statements, which an environment must switch on, are read as text.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from enum import StrEnum

from kvaudit.core.sources import Span

_OPENING = re.compile(r"\{\{|\{%|\{#")
_ENDRAW = re.compile(r"\{%[-+]?\s*endraw\s*[-+]?%\}")
_RAW = re.compile(r"\s*raw\s*")
_INSIDE = {
    # What decides where a tag ends: strings and brackets, in which its end mark is plain text.
    "{{": re.compile(r"[-+]?\}\}|[\"'(\[{)\]}]"),
    "{%": re.compile(r"[-+]?%\}|[\"'(\[{)\]}]"),
}
_STRING = {
    quote: re.compile(rf"[^{quote}\\]*(?:\\.[^{quote}\\]*)*{quote}", re.S) for quote in "'\""
}
MAX_TAG = 50_000
"""No tag that a person wrote is longer; also what an unclosed quote may cost to find out."""


class Kind(StrEnum):
    """What a token is."""

    TEXT = "text"
    OUTPUT = "output"
    TAG = "tag"
    COMMENT = "comment"


class ScanError(Exception):
    """The source is no Jinja; the text says what is wrong, and ``offset`` where."""

    def __init__(self, message: str, offset: int) -> None:
        """Take what is wrong and where."""
        super().__init__(message)
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Token:
    """A run of text, or one tag with its delimiters."""

    kind: Kind
    span: Span
    inner: Span
    """Without delimiters and white-space marks; of text, what is left once marks have acted."""
    trims_left: bool = False
    trims_right: bool = False


def scan(text: str, part: Span | None = None) -> list[Token]:
    """Return the tokens of a template, or of the part of a text that is one.

    Raises `ScanError`.
    """
    return _trimmed(text, list(_tokens(text, part or Span(0, len(text)))))


def _tokens(text: str, part: Span) -> Iterator[Token]:
    at, stop = part
    while at < stop:
        opening = _OPENING.search(text, at, stop)
        start = opening.start() if opening else stop
        if start > at:
            yield Token(Kind.TEXT, Span(at, start), Span(at, start))
        if opening is None:
            return
        token = (_comment if opening[0] == "{#" else _tag)(text, start, stop)
        yield token
        at = token.span.end
        if token.kind is Kind.TAG and _RAW.fullmatch(text, *token.inner):
            at = yield from _raw(text, at, stop)


def _raw(text: str, at: int, stop: int) -> Generator[Token, None, int]:
    closing = _ENDRAW.search(text, at, stop)
    if closing is None:
        raise ScanError("a raw block is never closed", at)
    if closing.start() > at:
        yield Token(Kind.TEXT, Span(at, closing.start()), Span(at, closing.start()))
    yield _tag(text, closing.start(), stop)
    return closing.end()


def _comment(text: str, start: int, stop: int) -> Token:
    end = text.find("#}", start + 2, stop)
    if end < 0:
        raise ScanError("a comment is never closed", start)
    return _token(text, Kind.COMMENT, start, end, end + 2)


def _tag(text: str, start: int, stop: int) -> Token:
    opened = text[start : start + 2]
    end = _end(text, start, opened, stop)
    mark = 3 if text[end] in "-+" else 2
    return _token(text, Kind.OUTPUT if opened == "{{" else Kind.TAG, start, end, end + mark)


def _end(text: str, start: int, opened: str, stop: int) -> int:
    """Return where the end mark of a tag begins, its white-space sign included."""
    depth = 0
    at, limit = start + 2, min(stop, start + MAX_TAG)
    while True:
        found = _INSIDE[opened].search(text, at, limit)
        if found is None:
            raise ScanError(f"{opened} is never closed", start)
        mark, at = found[0], found.end()
        if mark in _STRING:
            string = _STRING[mark].match(text, at, limit)
            if string is None:
                raise ScanError("a quote is never closed", start)
            at = string.end()
        elif mark in "([{":
            depth += 1
        elif len(mark) > 1 and depth == 0:
            return found.start()
        elif len(mark) > 1:
            # Within brackets this is no end mark but, at most, a bracket of its own.
            at = found.start() + 1
            depth -= mark[0] == "}"
        else:
            depth = max(0, depth - 1)


def _token(text: str, kind: Kind, start: int, inner_end: int, end: int) -> Token:
    signed = text[start + 2 : start + 3] in ("-", "+") and start + 2 < inner_end
    return Token(
        kind,
        Span(start, end),
        Span(start + 2 + signed, max(inner_end, start + 2 + signed)),
        trims_left=signed and text[start + 2] == "-",
        trims_right=text[inner_end] == "-" or (kind is Kind.COMMENT and text[inner_end - 1] == "-"),
    )


def _trimmed(text: str, tokens: list[Token]) -> list[Token]:
    """Let the marks of white-space control act on the text beside them."""
    for index, token in enumerate(tokens):
        if token.kind is not Kind.TEXT:
            continue
        start, end = token.span
        if index and tokens[index - 1].trims_right:
            start += len(text[start:end]) - len(text[start:end].lstrip())
        if index + 1 < len(tokens) and tokens[index + 1].trims_left:
            end = start + len(text[start:end].rstrip())
        tokens[index] = Token(Kind.TEXT, token.span, Span(start, end))
    return tokens
