"""Pieces in, documents out: which message a piece belongs to, and where that stands.

A prompt without role marks is one message. Its name or its content say whether it is the
system text (nothing of the user in it) or what is sent as the newest message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from kvaudit.analyzers.template.drift import drift
from kvaudit.analyzers.template.labels import labelled
from kvaudit.analyzers.template.pieces import Item, Piece
from kvaudit.analyzers.template.repeats import repeats
from kvaudit.analyzers.template.roles import Message, messages_of
from kvaudit.analyzers.template.toggles import toggles
from kvaudit.core.document import Document, Observation, Origin, Position, Segment
from kvaudit.core.requests import SYSTEM_ROLES, USER_ROLES
from kvaudit.core.sources import Source

_USER_NAME = re.compile(r"(?:^|[^a-z])(?:user|human|newest)(?:[^a-z]|$)")
_SYSTEM_NAME = re.compile(
    r"(?:^|[^a-z])(?:system|agents?|instructions?|persona|preamble)(?:[^a-z]|$)"
)
_REQUEST = frozenset({Origin.USER_INPUT, Origin.RETRIEVED})


def compose(
    source: Source,
    kind: str,
    items: Sequence[Item],
    *,
    header_lines: bool | None = None,
    name: str | None = None,
    model: str | None = None,
    roles: bool = True,
    position: Position | None = None,
    low_stakes: bool = False,
) -> list[Document]:
    """Return the document that a template's pieces make; none where they say nothing.

    ``position`` is where a prompt without role marks stands, if more is known than its name says.
    """
    messages = messages_of(items, lines=header_lines) if roles else [_single(items)]
    segments = list(_segments(source, messages, position))
    if not any(s.expression is not None or (s.text or "").strip() for s in segments):
        return []
    return [
        Document(
            source=source,
            kind=kind,
            name=name or PurePosixPath(source.path).name,
            segments=segments,
            observations=[
                *(item for item in items if isinstance(item, Observation)),
                *(*toggles(items), *repeats(segments), *drift(source)),
            ],
            model=model,
            low_stakes=low_stakes,
            multi_turn=_multi_turn(source, messages),
        )
    ]


def _single(items: Sequence[Item]) -> Message:
    return Message(pieces=[item for item in items if isinstance(item, Piece)])


def _segments(
    source: Source, messages: Sequence[Message], unmarked: Position | None
) -> Iterator[Segment]:
    for block, (message, position) in enumerate(
        zip(messages, positions(source, messages, unmarked), strict=True)
    ):
        for piece in labelled(message.pieces, first=block == 0):
            past = position is Position.SYSTEM and _of_history(piece)
            yield Segment(
                source=piece.source,
                span=piece.span,
                position=Position.HISTORY if past else position,
                text=piece.text,
                expression=piece.expression,
                origin=piece.value.origin,
                volatility=piece.value.volatility,
                evidence=piece.value.evidence,
                tokens=0 if piece.other_arm else None,
                block=block,
                trail=piece.value.trail,
            )


def _of_history(piece: Piece) -> bool:
    return piece.loop is Origin.HISTORY or piece.value.origin is Origin.HISTORY


def positions(
    source: Source, messages: Sequence[Message], unmarked: Position | None = None
) -> list[Position]:
    """Return where each message stands in the rendered request."""
    if not messages[-1].marked:
        return [_position_by_name(source) if unmarked is None else unmarked]
    users = [i for i, m in enumerate(messages) if m.role in USER_ROLES and not m.looped]
    newest = users[-1] if users else len(messages)
    found: list[Position] = []
    leads, goes_on = True, False
    for index, message in enumerate(messages):
        if message.looped:
            position = Position.HISTORY
        elif message.role in SYSTEM_ROLES or message.role is None:
            later = Position.TAIL if index > newest else Position.FEWSHOT
            position = Position.SYSTEM if leads else later
        elif index >= newest:
            position = Position.NEWEST if index == newest else Position.TAIL
        else:
            position = Position.HISTORY if goes_on else Position.FEWSHOT
        leads = leads and position is Position.SYSTEM
        goes_on = goes_on or position is Position.HISTORY
        found.append(position)
    return found


def _position_by_name(source: Source) -> Position:
    stem = PurePosixPath(source.path).name.lower()
    if _USER_NAME.search(stem) and not _SYSTEM_NAME.search(stem):
        return Position.NEWEST
    return Position.SYSTEM


def _multi_turn(source: Source, messages: Sequence[Message]) -> bool:
    """Whether further turns follow: in doubt they do, unless one message is the whole prompt."""
    if messages[-1].marked or _SYSTEM_NAME.search(PurePosixPath(source.path).name.lower()):
        return True
    pieces = messages[0].pieces
    if any(_of_history(piece) for piece in pieces):
        return True
    return not any(piece.value.origin in _REQUEST for piece in pieces)
