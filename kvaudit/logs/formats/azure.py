"""Azure LLM inference traces of 2023 and 2024, and LMM 2025: a time and two counts a row."""

from __future__ import annotations

from kvaudit.core.requests import Request
from kvaudit.logs.format import EachRow, LogFormat, Row, Sureness
from kvaudit.logs.values import fields
from kvaudit.logs.values.times import epoch_seconds


def recognise(row: Row) -> Sureness:
    """Tell it by its columns."""
    if {"ContextTokens", "GeneratedTokens"} <= row.keys():
        return Sureness.UNMISTAKABLE
    return Sureness.NO


def to_request(row: Row) -> Request:
    """Return the row's request."""
    return Request(
        id="",
        arrived_s=epoch_seconds(row.get("TIMESTAMP"), "TIMESTAMP"),
        prompt_tokens=fields.integer(row.get("ContextTokens"), "ContextTokens"),
        output_tokens=fields.integer(row.get("GeneratedTokens"), "GeneratedTokens"),
    )


FORMAT = LogFormat(
    name="azure",
    title="Azure LLM inference traces (counts only)",
    recognise=recognise,
    parser=lambda: EachRow(to_request),
)
