"""GitHub Copilot coding agent traces of 2026: one session a record, counts a model call.

Text and block identities are not in the trace; what the provider had cached is.
"""

from __future__ import annotations

from collections.abc import Iterable

from kvaudit.core.requests import Request, Status
from kvaudit.logs.format import BadRecord, LogFormat, Row, Sureness
from kvaudit.logs.parsers.sessions import EachSession
from kvaudit.logs.values import fields
from kvaudit.logs.values.times import after, epoch_seconds


def recognise(row: Row) -> Sureness:
    """Tell a session by turns that hold model calls."""
    turns = row.get("turns")
    if not isinstance(turns, list) or not turns or not isinstance(turns[0], dict):
        return Sureness.NO
    return Sureness.UNMISTAKABLE if "llm_calls" in turns[0] else Sureness.NO


def requests_in(row: Row, _number: int) -> Iterable[Request]:
    """Return the session's model calls."""
    session = fields.text(row.get("session_id"), "session_id")
    turns = fields.json_objects(row.get("turns"), "turns")
    if session is None or turns is None:
        raise BadRecord("session_id or turns is missing")
    calls = [
        call
        for turn in turns
        for call in fields.json_objects(turn.get("llm_calls"), "llm_calls") or ()
    ]
    return [_request(call, session, number) for number, call in enumerate(calls)]


def _request(call: Row, session: str, number: int) -> Request:
    tokens = fields.json_object(call.get("tokens"), "tokens") or {}
    arrived_s = epoch_seconds(call.get("timestamp"))
    duration_ms = fields.number(call.get("duration_ms"), "duration_ms")
    return Request(
        id=f"{session}/{number}",
        arrived_s=arrived_s,
        finished_s=after(arrived_s, None if duration_ms is None else duration_ms / 1000),
        status=Status.OK,
        model=fields.text(call.get("model"), "model"),
        session=session,
        parent=f"{session}/{number - 1}" if number else None,
        prompt_tokens=fields.integer(tokens.get("prompt"), "prompt"),
        output_tokens=fields.integer(tokens.get("completion"), "completion"),
        cached_tokens=fields.integer(tokens.get("cached"), "cached"),
    )


FORMAT = LogFormat(
    name="copilot",
    title="GitHub Copilot coding agent traces (counts, with the provider's cached tokens)",
    recognise=recognise,
    parser=lambda: EachSession(requests_in),
)
