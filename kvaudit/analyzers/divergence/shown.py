"""What the texts of two requests show of why they part, and what is no fault of theirs."""

from __future__ import annotations

from typing import NamedTuple

from kvaudit.analyzers.divergence.classify import classify
from kvaudit.analyzers.divergence.json_texts import reordered
from kvaudit.analyzers.divergence.parting import Parting
from kvaudit.analyzers.divergence.verdict import CONTENT, Pair, Verdict
from kvaudit.core.requests import Request
from kvaudit.core.why import Cause

_REORDERED = (Cause.JSON_KEY_ORDER, Cause.TOOL_ORDER, Cause.WHITESPACE_DRIFT)


class Shown(NamedTuple):
    """What a pair shows."""

    verdict: Verdict | None
    """None where it shows no fault."""
    position: str
    chars: int
    """Characters that both share; -1 where texts are not known."""
    one_text: bool
    """The later prompt is one text, without messages."""
    pieces: bool
    """What is only in another order comes back in pieces: a key and its value."""


WITHOUT_TEXT = Shown(
    Verdict(Cause.UNCLASSIFIED, None, "tokens, without a text"),
    "system",
    -1,
    one_text=False,
    pieces=False,
)


def shown_by(
    later: Request,
    earlier: Request,
    where: Parting,
    *,
    same_session: bool,
    far: bool,
    little: bool,
) -> Shown:
    """Return what a pair shows, that parts at another place than others do if it is ``far``.

    With ``little`` next to nothing is lost to it.
    """
    verdict = classify(Pair(later, earlier, where, same_session=same_session))
    if verdict is not None and verdict.position == "history" and little:
        goes_on = len(later.messages or ()) > len(earlier.messages or ())
        verdict = verdict if goes_on else None
    if verdict is not None and far and verdict.cause in CONTENT:
        verdict = None  # what two prompts ask, or look up, is no fault of theirs
    pieces = verdict is not None and (
        verdict.cause in _REORDERED or reordered(where.later, where.earlier)
    )
    return Shown(verdict, where.position, where.chars, later.prompt is not None, pieces)
