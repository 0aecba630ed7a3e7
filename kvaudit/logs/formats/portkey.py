"""Portkey log exports.

Columns are chosen at export, so everything but the model and the units may be missing; names
are those of Portkey's API documentation. A cache status that ends in HIT means that Portkey
answered from its own response cache.
"""

from kvaudit.core.requests import Request
from kvaudit.logs.api.answers import response_fields, whole_body
from kvaudit.logs.api.bodies import SESSION_KEYS, make_request, request_fields
from kvaudit.logs.api.envelope import ended, first_time
from kvaudit.logs.format import EachRow, Fields, LogFormat, Row, Sureness
from kvaudit.logs.values.lookup import child, count, label, number
from kvaudit.logs.values.times import after


def recognise(row: Row) -> Sureness:
    """Tell it by its names for the model and for tokens."""
    if "ai_model" in row and not {"req_units", "ai_org", "res_units"}.isdisjoint(row):
        return Sureness.UNMISTAKABLE
    return Sureness.NO


def to_request(row: Row) -> Request:
    """Return the row's request."""
    metadata = child(row, "metadata")
    started, taken_ms = first_time(row, "created_at"), number(row, "response_time")
    cache = label(row, "cache_status")
    answer = whole_body(row.get("response"))
    own: Fields = {
        "id": label(row, "id"),
        "arrived_s": started,
        "finished_s": after(started, None if taken_ms is None else taken_ms / 1e3),
        "status": ended(row),
        "model": label(row, "ai_model"),
        "tenant": label(row, "workspace_slug", "workspace_id", "organisation_id"),
        "user": label(metadata, "_user", "user", "user_id"),
        "session": label(metadata, *SESSION_KEYS) or label(row, "trace_id"),
        "response_cache_hit": None if cache is None else cache.upper().endswith("HIT"),
    }
    units = {
        "prompt_tokens": count(row, "req_units"),
        "output_tokens": count(row, "res_units"),
    }
    body = child(row, "request")
    sent = request_fields(child(body, "body") or body, prompt_required=False)
    # Units are what Portkey charges; the provider's own count, where it is there, is whole.
    return make_request(own, response_fields(child(answer, "body") or answer), units, sent)


FORMAT = LogFormat(
    name="portkey",
    title="Portkey log exports",
    recognise=recognise,
    parser=lambda: EachRow(to_request),
)
