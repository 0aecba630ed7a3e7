"""SGLang's request log as JSON: ``--log-requests --log-requests-format json``.

A request is announced when it is received and again, with its answer, when it is finished;
both are joined by ``rid``. Level 3 holds whole prompts, level 2 shortened ones, which are
marked, levels 0 and 1 only counts. Times are local, without a zone, and taken for UTC.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kvaudit.core.requests import Request
from kvaudit.core.summaries import Note
from kvaudit.logs.dialects.sglang import request_of
from kvaudit.logs.format import BadRecord, LogFormat, Row, Sureness
from kvaudit.logs.values import fields
from kvaudit.logs.values.times import epoch_seconds

MOST_IN_FLIGHT = 4096
"""Requests held until they finish; a server that logs only slow finishes leaves many open."""


def recognise(row: Row) -> Sureness:
    """Tell it by its event."""
    event = row.get("event")
    if isinstance(event, str) and event.startswith("request.") and ("rid" in row or "obj" in row):
        return Sureness.UNMISTAKABLE
    return Sureness.NO


class SglangLogParser:
    """Keeps what was received and has not finished."""

    def __init__(self) -> None:
        """Start a file."""
        self.skipped: Counter[str] = Counter()
        self.notes: list[Note] = []
        self._received: dict[str, Request] = {}
        self._given_up: set[str] = set()

    def parse(self, row: Row) -> Iterable[Request]:
        """Return the request that this record finishes, if it does."""
        event = row.get("event")
        if event == "request.received.openai":
            self.skipped["announced before the chat template was applied"] += 1
            return ()
        rid = row.get("rid")
        if isinstance(rid, list):
            self.skipped["announced as a batch, and again one by one"] += 1
            return ()
        if not isinstance(rid, str) or not rid:
            raise BadRecord("rid is missing")
        if event == "request.received":
            return self._receive(rid, row)
        if event == "request.finished":
            return self._finish(rid, row)
        self.skipped["event of another kind"] += 1
        return ()

    def finish(self) -> Iterable[Request]:
        """Return what was received and never finished."""
        return self._received.values()

    def _receive(self, rid: str, row: Row) -> Iterable[Request]:
        asked = fields.json_object(row.get("obj"), "obj") or {}
        arrived_s = epoch_seconds(row.get("timestamp"))
        request = request_of(asked, {}, request_id=rid, arrived_s=arrived_s)
        unfinished = [self._received.pop(rid)] if rid in self._received else []
        self._received[rid] = request
        if len(self._received) > MOST_IN_FLIGHT:
            oldest = next(iter(self._received))
            self._given_up.add(oldest)
            unfinished.append(self._received.pop(oldest))
        return unfinished

    def _finish(self, rid: str, row: Row) -> Iterable[Request]:
        if rid in self._given_up:
            self._given_up.remove(rid)
            self.skipped["finished long after it was received"] += 1
            return ()
        asked = fields.json_object(row.get("obj"), "obj") or {}
        answer = fields.json_object(row.get("out"), "out") or {}
        meta = fields.json_object(answer.get("meta_info"), "meta_info") or {}
        ended_s = epoch_seconds(row.get("timestamp"))
        elapsed_s = fields.number(meta.get("e2e_latency"), "e2e_latency")
        arrived_s = None if ended_s is None else ended_s - (elapsed_s or 0.0)
        if rid in self._received:
            arrived_s = self._received[rid].arrived_s
        request = request_of(asked, meta, request_id=rid, arrived_s=arrived_s, answer=answer)
        if self._received.pop(rid, None) is not None:
            self.skipped["received; joined with its finish"] += 1
        return (request,)


FORMAT = LogFormat(
    name="sglang-log",
    title="SGLang request log, JSON (--log-requests-format json)",
    recognise=recognise,
    parser=SglangLogParser,
)
