"""Langfuse observations: API (camelCase), ClickHouse and blob export (snake_case).

Generations are model calls; spans, events, agents and tools around them are not. ``input`` is
the messages, an object with messages and tools, or plain text, often as JSON in text.
"""

import re

from kvaudit.core.requests import Json, Request, Status
from kvaudit.logs.api.answers import answer_text
from kvaudit.logs.api.bodies import make_request, request_fields, sampling_fields
from kvaudit.logs.api.envelope import first_time
from kvaudit.logs.format import Fields, LogFormat, Row, Sureness
from kvaudit.logs.parsers.model_calls import ModelCalls
from kvaudit.logs.values.lookup import child, count, label, number, opened, total

_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_READ = ("input_cached_tokens", "cache_read_input_tokens", "input_cache_read")
_WRITTEN = ("cache_creation_input_tokens", "input_cache_creation", "input_cache_write_tokens")


def recognise(row: Row) -> Sureness:
    """Tell it by usage details on an observation of a trace."""
    row = next(iter(observations(row)), {})
    details = "usage_details" in row or "usageDetails" in row
    return (
        Sureness.UNMISTAKABLE
        if details and ("trace_id" in row or "traceId" in row)
        else Sureness.NO
    )


def observations(row: Row) -> list[Json]:
    """Return the observations of a record: itself, or those of a page of the API."""
    page = row.get("data")
    if isinstance(page, list) and "meta" in row:
        return [entry for entry in page if isinstance(entry, dict)]
    return [row]


def why_not(row: Json) -> str | None:
    """Return why an observation is no model call."""
    if label(row, "type") in ("GENERATION", "generation"):
        return None
    return "span, event, agent or tool, not a generation"


def to_request(observation: Json) -> Request:
    """Return the generation's request."""
    row = {_CAPITAL.sub("_", name).lower(): value for name, value in observation.items()}
    started, ended = first_time(row, "start_time"), first_time(row, "end_time")
    first = first_time(row, "completion_start_time")
    measured = first - started if first is not None and started is not None else None
    failed = label(row, "level") == "ERROR"
    return make_request(
        {
            "id": label(row, "id"),
            "arrived_s": started,
            "finished_s": ended,
            "ttft_s": number(row, "time_to_first_token") if measured is None else measured,
            "status": Status.ERROR if failed else Status.OK,
            "model": label(row, "provided_model_name", "model", "internal_model_id"),
            "tenant": label(row, "project_id"),
            "user": label(row, "user_id"),
            "session": label(row, "session_id"),
            "response": answer_text(row.get("output")),
        },
        _counts(row),
        sampling_fields(child(row, "model_parameters")),
        _sent(opened(row.get("input"))),
    )


def _sent(given: object) -> Fields:
    if isinstance(given, str) and given:
        return {"prompt": given}
    if isinstance(given, list) and given:
        return request_fields({"messages": given})
    return request_fields(given, prompt_required=False) if isinstance(given, dict) else {}


def _counts(row: Json) -> Fields:
    usage = child(row, "usage_details") or child(row, "usage")
    read, written = count(usage, *_READ), count(usage, *_WRITTEN)
    output = count(usage, "output", "completion_tokens", "completionTokens")
    return {
        "prompt_tokens": _whole_prompt(usage, output),
        "output_tokens": output,
        "cached_tokens": read,
        "cache_write_5m_tokens": written,
    }


def _whole_prompt(usage: Json, output: int | None) -> int | None:
    """Return all prompt tokens: ``input`` and the other input counts, unless it holds them.

    Langfuse's own mapping takes them out of ``input``; what an SDK wrote by hand may not.
    ``total`` tells the two apart.
    """
    rest = count(usage, "input", "prompt_tokens", "promptTokens")
    others = {name for name in usage if name.startswith("input_")} | {*_READ, *_WRITTEN}
    parts = total(rest, *(count(usage, name) for name in sorted(others)))
    whole = count(usage, "total", "total_tokens", "totalTokens")
    if rest is not None and whole == rest + (output or 0):
        return rest
    return parts


FORMAT = LogFormat(
    name="langfuse",
    title="Langfuse observations (API, UI and blob exports)",
    recognise=recognise,
    parser=lambda: ModelCalls(to_request, why_not=why_not, entries=observations),
)
