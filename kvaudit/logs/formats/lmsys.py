"""LMSYS-Chat-1M and WildChat: finished conversations as ``conversation: [{role, content}]``.

LMSYS has no times. WildChat stamps some turns and each conversation with its last turn; an
answer whose turns carry no stamp has no arrival, unless it is the last one.
"""

from __future__ import annotations

from collections.abc import Iterable

from kvaudit.core.requests import Json, Request
from kvaudit.logs.format import BadRecord, LogFormat, Row, Sureness
from kvaudit.logs.parsers.sessions import EachSession, requests_of
from kvaudit.logs.values import fields
from kvaudit.logs.values.times import epoch_seconds


def recognise(row: Row) -> Sureness:
    """Tell it by its turns and the conversation's name."""
    turns = row.get("conversation")
    named = "conversation_id" in row or "conversation_hash" in row
    if not named or not isinstance(turns, list) or not turns or not isinstance(turns[0], dict):
        return Sureness.NO
    return Sureness.UNMISTAKABLE if {"role", "content"} <= turns[0].keys() else Sureness.NO


def requests_in(row: Row, number: int) -> Iterable[Request]:
    """Return one request for each answer."""
    turns = fields.json_objects(row.get("conversation"), "conversation")
    if turns is None:
        raise BadRecord("conversation is missing")
    session = (
        fields.text(row.get("conversation_id"), "conversation_id")
        or fields.text(row.get("conversation_hash"), "conversation_hash")
        or f"conversation-{number}"
    )
    return requests_of(
        [_message(turn) for turn in turns],
        session=session,
        model=fields.text(row.get("model"), "model"),
        user=fields.text(row.get("hashed_ip"), "hashed_ip"),
        arrived_s=_arrivals(row, turns),
    )


def _message(turn: Row) -> Json:
    role = fields.text(turn.get("role"), "role")
    if role is None:
        raise BadRecord("a turn has no role")
    return {"role": role, "content": fields.text(turn.get("content"), "content") or ""}


def _arrivals(row: Row, turns: list[Row]) -> list[float | None]:
    """Return when each turn came; the answer's own time stands in for its question's."""
    stamps = [epoch_seconds(turn.get("timestamp")) for turn in turns]
    if stamps and stamps[-1] is None:
        stamps[-1] = epoch_seconds(row.get("timestamp"))
    for position in range(len(stamps) - 1):
        if stamps[position] is None and turns[position + 1].get("role") == "assistant":
            stamps[position] = stamps[position + 1]
    return stamps


FORMAT = LogFormat(
    name="lmsys",
    title="LMSYS-Chat-1M and WildChat conversations (one request an answer)",
    recognise=recognise,
    parser=lambda: EachSession(requests_in),
)
