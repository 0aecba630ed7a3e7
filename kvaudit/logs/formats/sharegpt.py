"""ShareGPT: finished conversations as ``conversations: [{from, value}]``, without times."""

from __future__ import annotations

from collections.abc import Iterable

from kvaudit.core.requests import Json, Request
from kvaudit.logs.format import BadRecord, LogFormat, Row, Sureness
from kvaudit.logs.parsers.sessions import EachSession, requests_of
from kvaudit.logs.values import fields

ROLES = {
    "system": "system",
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "chatgpt": "assistant",
    "bard": "assistant",
    "bing": "assistant",
    "function_call": "assistant",
    "tool": "tool",
    "function_response": "tool",
    "observation": "tool",
}
"""The chat role of every ``from`` met in data sets of this shape."""


def recognise(row: Row) -> Sureness:
    """Tell it by turns that say ``from`` and ``value``; an empty conversation is no evidence."""
    turns = row.get("conversations")
    if not isinstance(turns, list) or not turns or not isinstance(turns[0], dict):
        return Sureness.NO
    return Sureness.UNMISTAKABLE if {"from", "value"} <= turns[0].keys() else Sureness.NO


def requests_in(row: Row, number: int) -> Iterable[Request]:
    """Return one request for each answer."""
    turns = fields.json_objects(row.get("conversations"), "conversations")
    if turns is None:
        raise BadRecord("conversations is missing")
    session = fields.text(row.get("id"), "id") or f"conversation-{number}"
    return requests_of([_message(turn) for turn in turns], session=session)


def _message(turn: Row) -> Json:
    speaker = fields.text(turn.get("from"), "from") or ""
    if speaker not in ROLES:
        raise BadRecord("conversations has a turn of an unknown speaker", speaker)
    return {"role": ROLES[speaker], "content": fields.text(turn.get("value"), "value") or ""}


FORMAT = LogFormat(
    name="sharegpt",
    title="ShareGPT conversations (one request an answer)",
    recognise=recognise,
    parser=lambda: EachSession(requests_in),
)
