"""Where the pieces of a string literal stand in the file, whatever Python runs the linter.

Before Python 3.12 the parser gives the fields of an f-string wrong places, and the text
between them none. So the literal is scanned once more: tokens of an implicit concatenation,
and in f-strings the runs of text and the replacement fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_OPENING = re.compile(r"([A-Za-z]{0,2})('''|\"\"\"|'|\")")
_BETWEEN = re.compile(r"(?:[\s\\()]|#[^\n]*)*")


class Piece(NamedTuple):
    """A run of literal text, or the expression of a replacement field."""

    start: int
    end: int
    is_field: bool


def pieces(text: str, start: int, end: int) -> list[Piece]:
    """Return the pieces of the literal between two offsets; neighbouring runs are joined."""
    found: list[Piece] = []
    for prefix, first, last in _tokens(text, start, end):
        runs = _fields(text, first, last) if "f" in prefix else [Piece(first, last, False)]
        for piece in runs:
            if found and not piece.is_field and not found[-1].is_field:
                found[-1] = Piece(found[-1].start, piece.end, False)
            elif piece.is_field or piece.start < piece.end:
                found.append(piece)
    return found


def _tokens(text: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """Yield (prefix, start, end) of the text inside each pair of quotes."""
    at = start
    while at < end:
        between = _BETWEEN.match(text, at, end)
        at = between.end() if between else at
        opening = _OPENING.match(text, at, end)
        if opening is None:
            return
        prefix, quote = opening[1].lower(), opening[2]
        first = opening.end()
        last = _closing(text, first, end, quote, formatted="f" in prefix)
        yield prefix, first, last
        at = last + len(quote)


def _closing(text: str, at: int, end: int, quote: str, *, formatted: bool) -> int:
    """Return where a literal's closing quote stands.

    Inside a field the same quote may open a string of its own, since Python 3.12.
    """
    while at < end:
        if text[at] == "\\":
            at += 2
        elif text.startswith(quote, at):
            return at
        elif formatted and text.startswith("{{", at):
            at += 2
        elif formatted and text[at] == "{":
            at = _field_end(text, at + 1, end)
        else:
            at += 1
    return end


def _fields(text: str, start: int, end: int) -> Iterator[Piece]:
    at = run = start
    while at < end:
        if text.startswith(("{{", "}}"), at):
            at += 2
        elif text[at] == "{":
            yield Piece(run, at, False)
            closed = _field_end(text, at + 1, end)
            yield Piece(at + 1, _expression_end(text, at + 1, closed - 1), True)
            at = run = closed
        elif text.startswith("\\N{", at):
            at = text.find("}", at, end) + 1 or end
        else:
            at += 1
    yield Piece(run, end, False)


def _field_end(text: str, at: int, end: int) -> int:
    """Return the offset behind the brace that closes a field."""
    depth = 0
    while at < end:
        char = text[at]
        if char in "([{":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "}":
            if depth <= 0:
                return at + 1
            depth -= 1
        elif char in "'\"":
            at = _string_end(text, at, end)
            continue
        at += 1
    return end


def _expression_end(text: str, start: int, end: int) -> int:
    """Return where a field's expression ends: before ``=``, ``!r`` or a format."""
    at, depth = start, 0
    while at < end:
        char = text[at]
        if char in "'\"":
            at = _string_end(text, at, end)
            continue
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif depth == 0:
            if char == ":" or (char == "!" and text[at + 1 : at + 2] != "="):
                break
            if char == "=" and not _compares(text, at):
                break
        at += 1
    return start + len(text[start:at].rstrip())


def _compares(text: str, at: int) -> bool:
    return text[at + 1] == "=" or text[at - 1] in "=!<>"


def _string_end(text: str, at: int, end: int) -> int:
    quote = text[at : at + 3] if text[at : at + 3] in ("'''", '"""') else text[at]
    at += len(quote)
    while at < end and not text.startswith(quote, at):
        at += 2 if text[at] == "\\" else 1
    return at + len(quote)
