"""BurstGPT: counts a row, times in seconds since the trace began.

A request that failed stands in the trace with no response tokens, as its authors say.
"""

from __future__ import annotations

from kvaudit.core.requests import Request, Status
from kvaudit.logs.format import EachRow, LogFormat, Row, Sureness
from kvaudit.logs.values import fields
from kvaudit.logs.values.times import after


def recognise(row: Row) -> Sureness:
    """Tell it by its columns."""
    if {"Request tokens", "Response tokens", "Timestamp"} <= row.keys():
        return Sureness.UNMISTAKABLE
    return Sureness.NO


def to_request(row: Row) -> Request:
    """Return the row's request."""
    arrived_s = fields.number(row.get("Timestamp"), "Timestamp")
    elapsed_s = fields.number(row.get("Elapsed time"), "Elapsed time")
    output_tokens = fields.integer(row.get("Response tokens"), "Response tokens")
    return Request(
        id="",
        arrived_s=arrived_s,
        finished_s=after(arrived_s, elapsed_s),
        status=Status.OK if output_tokens else Status.ERROR,
        model=fields.text(row.get("Model"), "Model"),
        session=fields.text(row.get("Session ID"), "Session ID"),
        prompt_tokens=fields.integer(row.get("Request tokens"), "Request tokens"),
        output_tokens=output_tokens,
    )


FORMAT = LogFormat(
    name="burstgpt",
    title="BurstGPT traces (counts only)",
    recognise=recognise,
    parser=lambda: EachRow(to_request),
)
