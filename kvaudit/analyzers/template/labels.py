"""What the text before an expression says of it: ``Current time:``, a header line, a signature."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kvaudit.analyzers.template.pieces import Piece
from kvaudit.core.document import Evidence, Origin

_REACH = 400
"""How many characters before an expression can be its label."""

# Some clients send such a line as the first text of a request; an endpoint that does not take
# it out hashes it with everything behind it.
_TRANSPORT = re.compile(r"\s*(?:x-[a-z][\w-]*|[\w-]+-header)\s*:[^\n]*\Z", re.IGNORECASE)
_SIGNATURE = re.compile(
    r"https?://[^\s\"']*[?&](?:X-Amz-(?:Signature|Credential|Date)|sig|Signature|Expires|token)=\Z",
    re.IGNORECASE,
)
_CLOCK = re.compile(
    r"\b(?:current|local|system|utc)\s+(?:date\s*(?:/|and|&)?\s*)?time(?:stamp)?\s*(?:is|=|:)*[\s\"'`*]*\Z"
    r"|\bit is now[\s\"'`*]*\Z",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"\b(?:current|today'?s)\s+date\s*(?:is|=|:)*[\s\"'`*]*\Z|\btoday is[\s\"'`*]*\Z", re.IGNORECASE
)


def labelled(pieces: Sequence[Piece], *, first: bool) -> list[Piece]:
    """Return the pieces, those named whose label says more than their own name.

    ``first`` says that the message is the first of its prompt.
    """
    named: list[Piece] = []
    before = ""
    for piece in pieces:
        if piece.expression is None:
            before += piece.text or ""
        else:
            origin = _origin(piece, before, first)
            if origin is not None:
                value = replace(piece.value, origin=origin, evidence=Evidence.NAME)
                piece = replace(piece, value=value)
            before += "\0"
        named.append(piece)
        first = first and len(before) < _REACH and "\n" not in before.strip()
        before = before[-_REACH:]
    return named


def _origin(piece: Piece, before: str, first: bool) -> Origin | None:
    if piece.value.origin is Origin.CONSTANT:
        return None
    if first and _TRANSPORT.match(before):
        return Origin.TRANSPORT
    if _SIGNATURE.search(before):
        return Origin.SIGNED_URL
    if piece.value.origin is not Origin.UNKNOWN:
        return None
    if _CLOCK.search(before):
        return Origin.CLOCK
    return Origin.DATE if _DATE.search(before) else None
