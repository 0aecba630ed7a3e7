"""SGLang's metrics export (``--export-metrics-to-file-dir``): one finished request a line.

``request_parameters`` is the request as JSON in a string; beside it stands the engine's
meta_info. Media were left out by the server, so a prompt that had some cannot be told.
"""

from __future__ import annotations

from kvaudit.core.requests import Request
from kvaudit.logs.dialects.sglang import request_of
from kvaudit.logs.format import BadRecord, EachRow, LogFormat, Row, Sureness
from kvaudit.logs.values import fields


def recognise(row: Row) -> Sureness:
    """Tell it by the parameters and the engine's count."""
    if {"request_parameters", "cached_tokens"} <= row.keys():
        return Sureness.UNMISTAKABLE
    return Sureness.NO


def to_request(row: Row) -> Request:
    """Return the row's request."""
    asked = fields.json_object(row.get("request_parameters"), "request_parameters")
    if asked is None:
        raise BadRecord("request_parameters is missing")
    received_s = fields.number(row.get("request_received_ts"), "request_received_ts")
    name = fields.text(row.get("id"), "id") or fields.text(asked.get("rid"), "rid")
    return request_of(asked, row, request_id=name or "", arrived_s=received_s)


FORMAT = LogFormat(
    name="sglang-export",
    title="SGLang metrics export (--export-metrics-to-file-dir)",
    recognise=recognise,
    parser=lambda: EachRow(to_request),
)
