"""LiteLLM's spend table (LiteLLM_SpendLogs) from Postgres, Parquet, JSON or CSV.

JSON columns may be text, and in a CSV everything is. The prompt stands in
``proxy_server_request`` (``messages`` before 2025), and only with
``store_prompts_in_spend_logs``. ``cache_hit`` says that LiteLLM answered from its own response
cache, and is a word: "True", "False" or "None".
"""

from kvaudit.core.requests import Request
from kvaudit.logs.api.answers import response_fields
from kvaudit.logs.api.bodies import api_of, make_request, request_fields
from kvaudit.logs.api.envelope import first_time
from kvaudit.logs.dialects.litellm import (
    first_token_s,
    outcome,
    prompt_fields,
    tenant,
    usage_fields,
    was_cut,
    why_not,
)
from kvaudit.logs.format import Fields, LogFormat, Row, Sureness
from kvaudit.logs.parsers.model_calls import ModelCalls, itself
from kvaudit.logs.values import fields
from kvaudit.logs.values.lookup import child, label, opened


def recognise(row: Row) -> Sureness:
    """Tell it by the columns that only this table has together."""
    if {"request_id", "call_type", "cache_hit", "spend"} <= row.keys():
        return Sureness.UNMISTAKABLE
    return Sureness.NO


def to_request(row: Row) -> Request:
    """Return the row's request."""
    started, ended = first_time(row, "startTime"), first_time(row, "endTime")
    first = first_time(row, "completionStartTime")
    request_id = label(row, "request_id") or ""
    own: Fields = {
        "id": request_id,
        "arrived_s": started,
        "finished_s": ended,
        "ttft_s": first_token_s(started, first, ended),
        "status": outcome(row),
        "model": label(row, "model"),
        "tenant": tenant(row),
        "user": label(row, "end_user", "user"),
        "session": label(row, "session_id"),
        # A hit gets this suffix, since request_id must be unique.
        "response_cache_hit": "_cache_hit" in request_id
        or fields.flag(row.get("cache_hit"), "cache_hit"),
    }
    answer = response_fields(row.get("response"))
    if was_cut(answer.get("response") or ""):
        answer["response"] = None
    return make_request(own, usage_fields(row), prompt_fields(_sent(row)), answer)


def _sent(row: Row) -> Fields:
    body = child(row, "proxy_server_request")
    body = child(body, "body") or body
    messages = opened(row.get("messages"))
    if api_of(body) is None and messages:
        body = {"messages": messages}
    return request_fields(body, prompt_required=False)


FORMAT = LogFormat(
    name="litellm-spend-logs",
    title="LiteLLM_SpendLogs table (Postgres, CSV, Parquet)",
    recognise=recognise,
    parser=lambda: ModelCalls(to_request, why_not=why_not, entries=itself),
)
