"""Dynamo's request trace, and its agentic Mooncake files.

A request trace (``dynamo.request.trace.v1``) is written by a frontend: hashes that name a
block and everything before it, in the whole deployment. An agentic Mooncake file opens with a
header line; its ids are local to a play, whose sessions share them. Its requests say what they
wait for instead of when they came, so they are placed at the earliest time that allows: the
answers they wait for are taken to need no time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kvaudit.core.requests import Request, Status
from kvaudit.core.summaries import Note
from kvaudit.logs.format import BadRecord, LogFormat, Row, Sureness
from kvaudit.logs.values import fields

AGENTIC = "dynamo.agentic_mooncake"


def recognise(row: Row) -> Sureness:
    """Tell it by its schema, or by rows that only stand beside rows with one."""
    schema = row.get("schema")
    if isinstance(schema, str) and schema.startswith("dynamo."):
        return Sureness.UNMISTAKABLE
    if {"play_id", "hash_ids", "dependencies"} <= row.keys():
        return Sureness.UNMISTAKABLE
    if row.get("event_type") == "request_payload" and "request_id" in row:
        return Sureness.CHARACTERISTIC
    return Sureness.NO


class DynamoParser:
    """Keeps an agentic file's header and when each of its requests was placed."""

    def __init__(self) -> None:
        """Start a file."""
        self.skipped: Counter[str] = Counter()
        self.notes: list[Note] = []
        self._header: Row = {}
        self._placed_s: dict[str, float] = {}
        self._latest: dict[str, str] = {}

    def parse(self, row: Row) -> Iterable[Request]:
        """Return the request of a request's end, or of an agentic row."""
        if row.get("schema") == AGENTIC:
            self._header = row
            self.skipped["header line"] += 1
            return ()
        if "play_id" in row:
            return (self._agentic(row),)
        event = row.get("event_type")
        if event is None:
            raise BadRecord("neither event_type nor play_id")
        if event != "request_end":
            self.skipped[f"event {str(event)[:40]}, not a request's end"] += 1
            return ()
        return (self._traced(row),)

    def finish(self) -> Iterable[Request]:
        """Return nothing: no record is held back."""
        return ()

    def _traced(self, row: Row) -> Request:
        request = fields.json_object(row.get("request"), "request")
        if request is None:
            raise BadRecord("request is missing")
        replay = fields.json_object(request.get("replay"), "replay") or {}
        agent = fields.json_object(row.get("agent_context"), "agent_context") or {}
        session = fields.text(agent.get("session_id"), "session_id")
        request_id = fields.text(request.get("request_id"), "request_id") or ""
        parent = self._latest.get(session) if session is not None else None
        if session is not None:
            self._latest[session] = request_id
        received_ms = fields.number(request.get("request_received_ms"), "request_received_ms")
        ended_ms = fields.number(row.get("event_time_unix_ms"), "event_time_unix_ms")
        ttft_ms = fields.number(request.get("ttft_ms"), "ttft_ms")
        tokens = fields.integer(replay.get("input_length"), "input_length")
        return Request(
            id=request_id,
            arrived_s=None if received_ms is None else received_ms / 1000,
            finished_s=None if ended_ms is None else ended_ms / 1000,
            status=Status.OK,
            model=fields.text(request.get("model"), "model"),
            session=session,
            parent=parent or None,
            block_ids=fields.block_ids(
                replay.get("input_sequence_hashes"), "input_sequence_hashes"
            ),
            block_tokens=fields.integer(replay.get("trace_block_size"), "trace_block_size"),
            prompt_tokens=fields.integer(request.get("input_tokens"), "input_tokens")
            if tokens is None
            else tokens,
            output_tokens=fields.integer(request.get("output_tokens"), "output_tokens"),
            cached_tokens=fields.integer(request.get("cached_tokens"), "cached_tokens"),
            ttft_s=None if ttft_ms is None else ttft_ms / 1000,
        )

    def _agentic(self, row: Row) -> Request:
        request_id = fields.text(row.get("request_id"), "request_id")
        play = fields.text(row.get("play_id"), "play_id")
        if request_id is None or play is None:
            raise BadRecord("request_id or play_id is missing")
        waits_for = fields.json_objects(row.get("dependencies"), "dependencies") or []
        earliest_s = (fields.number(row.get("not_before_ms"), "not_before_ms") or 0.0) / 1000
        parent = None
        for wait in waits_for:
            other = fields.text(wait.get("request_id"), "request_id") or ""
            delay_s = (fields.number(wait.get("delay_ms"), "delay_ms") or 0.0) / 1000
            earliest_s = max(earliest_s, self._placed_s.get(other, 0.0) + delay_s)
            if wait.get("relation") == "sequence":
                parent = other
        self._placed_s[request_id] = earliest_s
        return Request(
            id=request_id,
            arrived_s=earliest_s,
            model=fields.text(row.get("model"), "model"),
            session=fields.text(row.get("session_id"), "session_id"),
            parent=parent,
            block_ids=fields.block_ids(row.get("hash_ids"), "hash_ids"),
            block_tokens=fields.integer(self._header.get("block_size"), "block_size"),
            block_scope=play,
            prompt_tokens=fields.integer(row.get("input_length"), "input_length"),
            output_tokens=fields.integer(row.get("output_length"), "output_length"),
        )


FORMAT = LogFormat(
    name="dynamo",
    title="Dynamo request traces and agentic Mooncake files",
    recognise=recognise,
    parser=DynamoParser,
)
