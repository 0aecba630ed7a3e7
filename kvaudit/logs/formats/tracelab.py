"""TraceLab rounds: what a provider counted for each model call of Claude Code and Codex.

Counts only: the text and the block identities were removed. A round begins when the last of
its inputs came, and ends with the last thing the model wrote.
"""

from __future__ import annotations

from kvaudit.core.requests import Request, Status
from kvaudit.logs.format import BadRecord, EachRow, LogFormat, Row, Sureness
from kvaudit.logs.values import fields
from kvaudit.logs.values.times import epoch_seconds

INPUT_EVENTS = frozenset({"user_message", "tool_result"})


def recognise(row: Row) -> Sureness:
    """Tell a round by its name and its split of the input."""
    if {"round_id", "prefix_tokens", "newly_append_tokens"} <= row.keys():
        return Sureness.UNMISTAKABLE
    return Sureness.NO


class TraceLabParser(EachRow):
    """Keeps the latest round of each session."""

    def __init__(self) -> None:
        """Start a file."""
        super().__init__(self._request)
        self._latest: dict[str, str] = {}

    def _request(self, row: Row) -> Request:
        session = fields.text(row.get("session_id"), "session_id")
        name = fields.text(row.get("trace_key"), "trace_key")
        name = name or fields.text(row.get("round_id"), "round_id") or ""
        parent = self._latest.get(session) if session is not None else None
        if session is not None and name:
            self._latest[session] = name
        arrived_s, finished_s = _times(row)
        return Request(
            id=name,
            arrived_s=arrived_s,
            finished_s=finished_s,
            status=Status.OK,
            model=fields.text(row.get("model"), "model"),
            tenant=fields.text(row.get("project"), "project"),
            session=session,
            parent=parent,
            prompt_tokens=fields.integer(row.get("input_tokens_total"), "input_tokens_total"),
            output_tokens=fields.integer(row.get("output_tokens"), "output_tokens"),
            cached_tokens=fields.integer(row.get("prefix_tokens"), "prefix_tokens"),
        )


def _times(row: Row) -> tuple[float | None, float | None]:
    events = fields.json_objects(row.get("timing_events"), "timing_events") or []
    begun_s: float | None = None
    ended_s: float | None = None
    for event in events:
        at_s = epoch_seconds(event.get("timestamp"))
        kind = event.get("event_type")
        if not isinstance(kind, str):
            raise BadRecord("timing_events has an event without a type")
        if kind not in INPUT_EVENTS:
            ended_s = at_s
        elif ended_s is None:
            begun_s = at_s
    return begun_s, ended_s


FORMAT = LogFormat(
    name="tracelab",
    title="TraceLab rounds of coding agents (counts, with the provider's cached tokens)",
    recognise=recognise,
    parser=TraceLabParser,
)
