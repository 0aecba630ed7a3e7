"""LMCache agent traces: the whole prompt as text, times in microseconds.

The text is what the agent framework sent, already flat; it goes to the tokenizer as a raw
prompt. Sessions are those of the trace; one session may interleave several agents, so no
request is said to continue another.
"""

from __future__ import annotations

from kvaudit.core.requests import Request
from kvaudit.logs.format import BadRecord, EachRow, LogFormat, Row, Sureness
from kvaudit.logs.values import fields

FIELDS = {"timestamp", "input", "output", "session_id"}


def recognise(row: Row) -> Sureness:
    """Tell it by having these fields and no others, with text in and out."""
    if not FIELDS - {"session_id"} <= row.keys() <= FIELDS:
        return Sureness.NO
    if isinstance(row["input"], str) and isinstance(row["output"], str):
        return Sureness.CHARACTERISTIC
    return Sureness.NO


def to_request(row: Row) -> Request:
    """Return the row's request."""
    prompt = row.get("input")
    if not isinstance(prompt, str):  # an empty text is what some agents sent
        raise BadRecord("input is not text")
    timestamp_us = fields.number(row.get("timestamp"), "timestamp")
    return Request(
        id="",
        arrived_s=None if timestamp_us is None else timestamp_us / 1e6,
        session=fields.text(row.get("session_id"), "session_id"),
        prompt=prompt,
        response=fields.text(row.get("output"), "output"),
    )


FORMAT = LogFormat(
    name="lmcache-agent",
    title="LMCache agent traces (prompt and answer as text, microseconds)",
    recognise=recognise,
    parser=lambda: EachRow(to_request),
)
