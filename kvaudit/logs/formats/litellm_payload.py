"""LiteLLM's StandardLoggingPayload: what its callbacks write, one JSON object a call.

Times are seconds as numbers. ``cache_hit`` is about LiteLLM's own response cache.
"""

from kvaudit.core.requests import Request
from kvaudit.logs.api.answers import response_fields
from kvaudit.logs.api.bodies import SESSION_KEYS, make_request, request_fields
from kvaudit.logs.api.envelope import first_time
from kvaudit.logs.dialects.litellm import (
    first_token_s,
    outcome,
    prompt_fields,
    tenant,
    usage_fields,
    why_not,
)
from kvaudit.logs.format import Fields, LogFormat, Row, Sureness
from kvaudit.logs.parsers.model_calls import ModelCalls, itself
from kvaudit.logs.values import fields
from kvaudit.logs.values.lookup import child, label, opened


def recognise(row: Row) -> Sureness:
    """Tell it by what a cache hit saved, beside the kind of call."""
    if {"saved_cache_cost", "call_type"} <= row.keys():
        return Sureness.UNMISTAKABLE
    return Sureness.NO


def to_request(row: Row) -> Request:
    """Return the payload's request."""
    metadata = child(row, "metadata")
    started, ended = first_time(row, "startTime"), first_time(row, "endTime")
    first = first_time(row, "completionStartTime")
    own: Fields = {
        "id": label(row, "id"),
        "arrived_s": started,
        "finished_s": ended,
        "ttft_s": first_token_s(started, first, ended),
        "status": outcome(row),
        "model": label(row, "model"),
        "tenant": tenant(row),
        "user": label(row, "end_user")
        or label(metadata, "user_api_key_end_user_id", "user_api_key_user_id"),
        "session": label(row, "session_id")
        or label(child(metadata, "requester_metadata"), *SESSION_KEYS)
        or label(row, "trace_id"),
        "response_cache_hit": fields.flag(row.get("cache_hit"), "cache_hit"),
    }
    return make_request(
        own, usage_fields(row), prompt_fields(_sent(row)), response_fields(row.get("response"))
    )


def _sent(row: Row) -> Fields:
    """Return what was sent; tools are among the model parameters, which is all but messages."""
    messages = opened(row.get("messages"))
    parameters = child(row, "model_parameters")
    if isinstance(messages, dict):
        return request_fields(parameters | messages, prompt_required=False)
    if isinstance(messages, str):
        return request_fields(parameters | {"prompt": messages}, prompt_required=False)
    return request_fields(
        parameters | ({"messages": messages} if messages else {}), prompt_required=False
    )


FORMAT = LogFormat(
    name="litellm-payload",
    title="LiteLLM StandardLoggingPayload (callbacks, S3, GCS)",
    recognise=recognise,
    parser=lambda: ModelCalls(to_request, why_not=why_not, entries=itself),
)
