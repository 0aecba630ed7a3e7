"""Where one message of a prompt ends and the next begins.

Marks are taken from the text as rendered: header lines (``system:``), ChatML and the like, and
``<message role="...">``. Header lines count only where the prompt begins with one; elsewhere
they are the transcript of a completion prompt or part of an example.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from kvaudit.analyzers.template.pieces import Item, Mark, Piece
from kvaudit.core.document import Origin
from kvaudit.core.sources import Span

_NAMES = "system|user|assistant|developer|function|tool|human|model|ai"
_TAGS = (
    rf"<\|im_start\|>[ \t]*(?P<chatml>{_NAMES})[ \t]*\n?"
    rf"|<\|start_header_id\|>[ \t]*(?P<header>{_NAMES})[ \t]*<\|end_header_id\|>"
    rf"|<\|(?P<bar>{_NAMES})\|>"
    rf"|<message\s+role\s*=\s*[\"'](?P<xml>{_NAMES})[\"'][^<>]{{0,80}}>"
)
_LINE = rf"^[ \t]*+(?:#{{1,3}}[ \t]*+)?(?P<line>{_NAMES})[ \t]*+:[ \t]*+(?:\r?\n|\Z)"
_MARK = re.compile(_TAGS)
_MARK_OR_LINE = re.compile(f"{_TAGS}|{_LINE}", re.MULTILINE)
_FIRST_LINE = re.compile(_LINE)
_OPENS_ROLE = re.compile(
    r"(?:^|\n)[ \t]*#{0,3}[ \t]*\Z|<\|(?:im_start\|>|start_header_id\|>)?\Z|role\s*=\s*[\"']\Z"
)
_CLOSES_ROLE = re.compile(r"[ \t]*:|<?\|?(?:end_header_id)?\|?>?|[\"']")
_ROLE_EXPRESSION = re.compile(r"(?:^|[.\[])[\"']?(?:role|author|type|speaker)[\"']?\]?$")


@dataclass(slots=True)
class Message:
    """One message, or what stands before the first mark (``marked`` is false)."""

    role: str | None = None
    marked: bool = False
    looped: bool = False
    """It stands in a loop over the history, or its role is only known when it is rendered."""
    pieces: list[Piece] = field(default_factory=list)


def messages_of(items: Sequence[Item], *, lines: bool | None = None) -> list[Message]:
    """Return the messages of a prompt in order; one without marks is one message.

    ``lines`` says whether header lines are marks; None looks at how the prompt begins.
    """
    if lines is None:
        lines = _begins_with_header(items)
    messages = [Message()]
    spoken = [item for item in items if isinstance(item, Piece | Mark)]
    for item in _with_dynamic(spoken, lines):
        for part in [item] if isinstance(item, Mark) else _split(item, lines):
            if isinstance(part, Mark):
                looped = part.role is None or part.loop is Origin.HISTORY
                messages.append(Message(part.role, marked=True, looped=looped))
            else:
                messages[-1].pieces.append(part)
    if len(messages) > 1 and not any(_says_something(p) for p in messages[0].pieces):
        del messages[0]
    return messages


def _says_something(piece: Piece) -> bool:
    return piece.expression is not None or bool((piece.text or "").strip())


def _begins_with_header(items: Iterable[Item]) -> bool:
    for item in items:
        if isinstance(item, Mark) or (isinstance(item, Piece) and item.expression is not None):
            return False
        if not isinstance(item, Piece):
            continue
        if (item.text or "").strip():
            return _FIRST_LINE.match((item.text or "").lstrip()) is not None
    return False


def _split(piece: Piece, lines: bool) -> Iterator[Piece | Mark]:
    """Cut a run of text at its role marks."""
    if piece.text is None:
        yield piece
        return
    at = 0
    exact = len(piece.text) == piece.span.end - piece.span.start
    for found in (_MARK_OR_LINE if lines else _MARK).finditer(piece.text):
        if found.start() > at:
            yield _cut(piece, at, found.start(), exact)
        role = next(value for value in found.groupdict().values() if value is not None)
        span = _cut(piece, found.start(), found.end(), exact).span
        yield Mark(source=piece.source, span=span, role=role.lower(), loop=piece.loop)
        at = found.end()
    if at < len(piece.text):
        yield _cut(piece, at, len(piece.text), exact)


def _cut(piece: Piece, start: int, end: int, exact: bool) -> Piece:
    """Take a part of a run; its place is exact unless the text was written with escapes."""
    span = Span(piece.span.start + start, piece.span.start + end) if exact else piece.span
    return replace(piece, text=(piece.text or "")[start:end], span=span)


def _with_dynamic(items: Sequence[Piece | Mark], lines: bool) -> Iterator[Piece | Mark]:
    """Put a mark where an expression is the role: ``{{ item.role }}:``."""
    for index, item in enumerate(items):
        if isinstance(item, Piece) and item.expression is not None:
            before = items[index - 1] if index else None
            after = items[index + 1] if index + 1 < len(items) else None
            if _ROLE_EXPRESSION.search(item.expression[-40:]) and _framed(before, after, lines):
                yield Mark(source=item.source, span=item.span, role=None, loop=item.loop)
                continue
        yield item


def _framed(before: Item | None, after: Item | None, lines: bool) -> bool:
    if not isinstance(before, Piece) or not isinstance(after, Piece):
        return False
    opened = _OPENS_ROLE.search((before.text or "")[-40:])
    closed = _CLOSES_ROLE.match(after.text or "")
    if opened is None or closed is None or not closed[0]:
        return False
    return lines or closed[0].strip() != ":"
