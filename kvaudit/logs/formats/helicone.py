"""Helicone's ``request_response_rmt``: API and ClickHouse exports.

Bodies are JSON in text. ``prompt_tokens`` is what the provider calls input, which for
Anthropic leaves out what was cached. A reference to another request means that Helicone
answered from its own response cache; ``cache_enabled`` only says that it may.
"""

from kvaudit.core.requests import Request
from kvaudit.logs.api.answers import response_fields
from kvaudit.logs.api.bodies import make_request, request_fields
from kvaudit.logs.api.envelope import ended, first_time
from kvaudit.logs.api.usage import disjoint
from kvaudit.logs.format import Fields, LogFormat, Row, Sureness
from kvaudit.logs.parsers.model_calls import ModelCalls, itself
from kvaudit.logs.values.lookup import child, count, label, number
from kvaudit.logs.values.times import after

_NO_REFERENCE = "00000000-0000-0000-0000-000000000000"


def recognise(row: Row) -> Sureness:
    """Tell it by its own names for cache counts and bodies."""
    if {"prompt_cache_read_tokens", "request_body"} <= row.keys():
        return Sureness.UNMISTAKABLE
    named = {"request_created_at", "cache_reference_id"} <= row.keys()
    return Sureness.UNMISTAKABLE if named else Sureness.NO


def why_not(row: Row) -> str | None:
    """Return why a row is no call of a language model."""
    path = label(row, "request_path", "target_url") or ""
    return "embedding, not a language model's call" if "embedding" in path else None


def to_request(row: Row) -> Request:
    """Return the row's request."""
    properties = child(row, "properties") or child(row, "request_properties")
    started = first_time(row, "request_created_at")
    latency_ms = number(row, "latency", "delay_ms")
    ttft_ms = number(row, "time_to_first_token")
    own: Fields = {
        "id": label(row, "request_id"),
        "arrived_s": started,
        "finished_s": after(started, None if latency_ms is None else latency_ms / 1e3),
        "ttft_s": ttft_ms / 1e3 if ttft_ms else None,  # 0 where nothing was streamed
        "status": ended({"status": row.get("status", row.get("response_status"))}),
        "model": label(row, "model", "request_model"),
        "tenant": label(row, "organization_id"),
        "user": label(row, "user_id", "request_user_id"),
        "session": label(properties, "Helicone-Session-Id", "session_id"),
        "response_cache_hit": label(row, "cache_reference_id") not in (None, _NO_REFERENCE)
        if "cache_reference_id" in row
        else None,
    }
    sent = request_fields(child(row, "request_body"), prompt_required=False)
    # A usage object says more than the columns made from it.
    return make_request(own, response_fields(row.get("response_body")), _counts(row), sent)


def _counts(row: Row) -> Fields:
    found = disjoint(
        rest=count(row, "prompt_tokens"),
        read=count(row, "prompt_cache_read_tokens"),
        written=count(row, "prompt_cache_write_tokens"),
        output=count(row, "completion_tokens"),
    )
    if "ANTHROPIC" not in (label(row, "provider") or "").upper():
        found["prompt_tokens"] = count(row, "prompt_tokens")
    return found


FORMAT = LogFormat(
    name="helicone",
    title="Helicone request and response rows",
    recognise=recognise,
    parser=lambda: ModelCalls(to_request, why_not=why_not, entries=itself),
)
