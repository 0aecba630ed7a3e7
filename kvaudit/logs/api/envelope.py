"""What a log writes around a request body: when, who, how it ended.

Applications and gateways that log bodies choose their own names; these are the ones in use.
"""

from kvaudit.core.requests import Json, Status
from kvaudit.logs.api.answers import http_status
from kvaudit.logs.format import Fields
from kvaudit.logs.values.columns import Columns
from kvaudit.logs.values.lookup import as_label, as_number
from kvaudit.logs.values.times import epoch_seconds

# In this order: a start is meant where a log also has an end.
STARTED = (
    *("ts", "timestamp", "start_time", "startTime", "started_at", "request_time"),
    *("created_at", "createdAt", "time", "time_iso8601", "created"),
)
FINISHED = ("end_time", "endTime", "finished_at", "completed_at", "response_time_iso")
_STATUS_COLUMNS = ("status_code", "http_status", "response_status_code", "status")
_STATUS_WORDS = {
    **dict.fromkeys(("ok", "success", "succeeded", "completed"), Status.OK),
    **dict.fromkeys(("error", "failure", "failed", "errored", "expired"), Status.ERROR),
    **dict.fromkeys(("cancelled", "canceled", "aborted"), Status.CANCELLED),
}


def _moment(value: object) -> float | None:
    return epoch_seconds(value, "the time of the request")


def _milliseconds(value: object) -> float | None:
    result = as_number(value)
    return None if result is None else result / 1e3


_COLUMNS = Columns(
    id=(as_label, "request_id", "requestId", "custom_id", "id"),
    arrived_s=(_moment, *STARTED),
    finished_s=(_moment, *FINISHED),
    tenant=(
        as_label,
        *("tenant", "tenant_id", "workspace", "organization", "team", "api_key_hash"),
    ),
    user=(as_label, "user", "user_id"),
    session=(as_label, "session", "session_id", "sessionId", "conversation_id"),
    instance=(as_label, "instance", "upstream_addr", "replica"),
    ttft_s=(as_number, "ttft_s", "ttft"),
    ttft_ms=(_milliseconds, "ttft_ms", "time_to_first_token_ms"),
)


def envelope_fields(row: Json) -> Fields:
    """Return what a record says beside the bodies; raises `BadRecord` for an unreadable time."""
    found = _COLUMNS.read(row)
    found["status"] = ended(row)
    if "ttft_ms" in found:
        found["ttft_s"] = found.pop("ttft_ms")
    return found


def first_time(row: Json, *names: str) -> float | None:
    """Return the first of these fields that holds a point in time, in epoch seconds."""
    for name in names:
        if row.get(name) not in (None, ""):
            return epoch_seconds(row[name], name)
    return None


def ended(row: Json) -> Status | None:
    """Return how a request ended, from an error, a status word or an HTTP status."""
    if row.get("error"):
        return Status.ERROR
    for name in _STATUS_COLUMNS:
        value = row.get(name)
        if value is None:
            continue
        if isinstance(value, str) and value.lower() in _STATUS_WORDS:
            return _STATUS_WORDS[value.lower()]
        status = http_status(value)
        if status is not None:
            return status
    return None
