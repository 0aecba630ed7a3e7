"""Gateway and web server logs: one row a call, with the request body in a column of its own.

The body is JSON, as an object or as a text (nginx with ``escape=json``, CSV, ClickHouse), in
the shape of any provider API; also SageMaker's data capture, where it may be base64.
"""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Iterable
from typing import Any

from kvaudit.core.requests import Request, Status
from kvaudit.core.summaries import Note
from kvaudit.logs.api.answers import response_fields
from kvaudit.logs.api.bodies import is_request, joined, request_fields
from kvaudit.logs.format import BadRecord, Fields, LogFormat, Row, Sureness
from kvaudit.logs.values import fields
from kvaudit.logs.values.times import epoch_seconds

_BODIES = (
    *("request_json", "request_body", "body", "request", "payload", "proxy_server_request"),
    *("requestBody", "req_body", "input_body"),
)
_RESPONSES = ("response_json", "response_body", "responseBody", "response", "resp_body")
_TIMES = (
    *("time_iso8601", "timestamp", "ts", "created_at", "time", "@timestamp", "start_time"),
    *("startTime", "time_local", "msec", "request_time", "datetime", "date"),
)
_COLUMNS = {
    "id": ("request_id", "id", "trace_id", "req_id"),
    "session": ("session_id", "session", "conversation_id", "x_session_id"),
    "tenant": ("tenant", "tenant_id", "org_id", "organization_id", "team_id"),
    "user": ("user", "user_id", "end_user"),
    "model": ("model",),
    "instance": ("instance", "upstream_addr", "pod", "host"),
}
# Calls of the same APIs that generate nothing and so have no prefix cache.
_OTHER_CALLS = ("embedding", "rerank", "moderation", "/audio", "/images", "/files")
_PATHS = ("request_uri", "uri", "path", "url", "endpoint", "route")


def _recognise(row: Row) -> Sureness:
    if isinstance(row.get("captureData"), dict):
        return Sureness.UNMISTAKABLE
    for column in _BODIES:
        value = row.get(column)
        if isinstance(value, str) and value.lstrip().startswith("{"):
            if _is_body(value):
                return Sureness.CHARACTERISTIC
        # An object under these two is how API clients log; their formats take it.
        elif column not in ("request", "body") and is_request(value):
            return Sureness.GENERIC
    return Sureness.NO


def _is_body(text: str) -> bool:
    try:
        return is_request(fields.json_value(text, "body"))
    except BadRecord:
        return False


class _Calls:
    """Reads a gateway's rows; calls that ask for no text are skipped."""

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()
        self.notes: list[Note] = []

    def parse(self, row: Row) -> Iterable[Request]:
        if isinstance(row.get("captureData"), dict):
            return (_captured(row),)
        path = next((row[column] for column in _PATHS if isinstance(row.get(column), str)), "")
        if any(word in path for word in _OTHER_CALLS):
            self.skipped["call that generates no text"] += 1
            return ()
        body = _first_object(row, _BODIES)
        if body is None:
            self.skipped["call without a request body"] += 1
            return ()
        answer = next((row[column] for column in _RESPONSES if row.get(column)), None)
        found = joined(request_fields(_unwrapped(body)), response_fields(answer))
        found |= _row_fields(row, found)
        return (Request(**found),)

    def finish(self) -> Iterable[Request]:
        return ()


def _first_object(row: Row, columns: Iterable[str]) -> dict[str, Any] | None:
    """Return the object in the first of the columns that holds one."""
    for column in columns:
        value = row.get(column)
        if isinstance(value, dict):
            return value
        if isinstance(value, str) and value.strip() not in ("", "-"):
            return fields.json_object(value, column)
    return None


def _unwrapped(body: dict[str, Any]) -> dict[str, Any]:
    """Return the API's body where a proxy keeps it with headers and address in one object."""
    inner = body.get("body")
    return inner if isinstance(inner, dict) and not is_request(body) else body


def _row_fields(row: Row, body: Fields) -> Fields:
    found: Fields = {"id": body.get("id", "")}
    for name, columns in _COLUMNS.items():
        for column in columns:
            value = row.get(column)
            if value is not None and not isinstance(value, (dict, list, bool)):
                found[name] = fields.text(value, column) or ""
                break
    # What the body says is what the engine saw.
    for name in ("model", "user"):
        if body.get(name):
            found[name] = body[name]
    return found | _times(row) | _status(row)


def _times(row: Row) -> Fields:
    # nginx writes the row when the call ends, and request_time is how long it took.
    taken_s = None
    for column in ("request_time", "upstream_response_time"):
        if taken_s is None and ("time_iso8601" in row or "msec" in row or "time_local" in row):
            taken_s = _duration_s(row.get(column))
    for column in _TIMES:
        value = row.get(column)
        if value is None or (column == "request_time" and _duration_s(value) is not None):
            continue
        moment = epoch_seconds(value, column)
        if moment is None:
            continue
        if taken_s is None:
            return {"arrived_s": moment}
        return {"arrived_s": moment - taken_s, "finished_s": moment}
    return {}


def _duration_s(value: object) -> float | None:
    try:
        seconds = fields.number(value, "duration")
    except BadRecord:
        return None  # a point in time, or "-" where there was no upstream
    return seconds if seconds is not None and 0 <= seconds < 1e6 else None


def _status(row: Row) -> Fields:
    for column in ("status", "status_code", "response_code", "http_status"):
        value = row.get(column)
        if isinstance(value, (int, str)) and str(value).isdecimal():
            return {"status": Status.OK if int(value) < 400 else Status.ERROR}
    return {}


def _captured(row: Row) -> Request:
    """Return a request of SageMaker's data capture."""
    capture = row["captureData"]
    body = _captured_body(capture.get("endpointInput"), "endpointInput")
    if isinstance(body.get("inputs"), str):  # text generation containers, not an OpenAI API
        body = {**body, "prompt": body["inputs"]}
    found = request_fields(body)
    if capture.get("endpointOutput"):
        answer = _captured_body(capture["endpointOutput"], "endpointOutput")
        found = joined(found, response_fields(answer))
    metadata = row.get("eventMetadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    found["id"] = fields.text(metadata.get("eventId"), "eventId") or ""
    found["arrived_s"] = epoch_seconds(metadata.get("inferenceTime"), "inferenceTime")
    return Request(**found)


def _captured_body(part: object, name: str) -> dict[str, Any]:
    if not isinstance(part, dict):
        raise BadRecord(f"captureData.{name} is not an object")
    data = part.get("data")
    if part.get("encoding") == "BASE64" and isinstance(data, str):
        try:
            data = base64.b64decode(data, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise BadRecord(f"captureData.{name}.data is not base64 of a text") from None
    return fields.json_object(data, f"captureData.{name}.data") or {}


FORMAT = LogFormat(
    name="gateway",
    title="gateway, nginx or SageMaker rows with a request body as JSON in a column",
    recognise=_recognise,
    parser=_Calls,
)
