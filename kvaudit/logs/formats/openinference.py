"""OpenInference spans, as Phoenix and Arize export them.

Messages are numbered into the attribute names (``llm.input_messages.0.message.role``), nested,
or in columns; all three read the same once flat. Spans of chains, tools and retrievers are not
requests.
"""

from typing import Any

from kvaudit.core.requests import Json, Request
from kvaudit.logs.api.bodies import make_request, message_fields, sampling_fields
from kvaudit.logs.dialects.spans import Span, spans_of
from kvaudit.logs.format import Fields, LogFormat, Row, Sureness
from kvaudit.logs.parsers.model_calls import ModelCalls
from kvaudit.logs.values.lookup import child, count, label, opened

_CACHE = "llm.token_count.prompt_details."


def recognise(row: Row) -> Sureness:
    """Tell it by the span kind that every OpenInference span has."""
    marked = any("openinference.span.kind" in span.attributes for span in spans_of(row))
    return Sureness.UNMISTAKABLE if marked else Sureness.NO


def why_not(span: Span) -> str | None:
    """Return why a span is no model call."""
    kind = label(span.attributes, "openinference.span.kind")
    return None if kind == "LLM" else "chain, tool or retriever span, not a model call"


def to_request(span: Span) -> Request:
    """Return the span's request."""
    attributes = span.attributes
    messages = [_message(m) for m in _numbered(attributes, "llm.input_messages.")]
    answers = [_message(m) for m in _numbered(attributes, "llm.output_messages.")]
    tools = [opened(t.get("tool.json_schema")) for t in _numbered(attributes, "llm.tools.")]
    own: Fields = {
        "id": span.id,
        "arrived_s": span.started_s,
        "finished_s": span.ended_s,
        "status": span.status,
        "model": label(attributes, "llm.model_name"),
        "user": label(attributes, "user.id"),
        "session": label(attributes, "session.id"),
        "tools": [tool for tool in tools if isinstance(tool, dict)] or None,
        "response": label(answers[0], "content") if answers else None,
        "prompt_tokens": count(attributes, "llm.token_count.prompt"),
        "output_tokens": count(attributes, "llm.token_count.completion"),
        "cached_tokens": count(attributes, _CACHE + "cache_read", _CACHE + "cache_input"),
        "cache_write_5m_tokens": count(attributes, _CACHE + "cache_write"),
    }
    sent = message_fields(messages) if messages else {}
    parameters = child(attributes, "llm.invocation_parameters")
    return make_request(own, sampling_fields(parameters), sent)


def _numbered(attributes: Json, prefix: str) -> list[Json]:
    """Return the objects of a flattened list, in order."""
    entries: dict[int, Json] = {}
    for name, value in attributes.items():
        index, dot, rest = name.removeprefix(prefix).partition(".")
        if name.startswith(prefix) and dot and index.isascii() and index.isdigit():
            entries.setdefault(int(index[:9]), {})[rest] = value
    return [entry for _, entry in sorted(entries.items())]


def _message(flat: Json) -> Json:
    message: Json = {"role": flat.get("message.role"), "content": flat.get("message.content")}
    parts = [_part(part) for part in _numbered(flat, "message.contents.")]
    if parts:
        message["content"] = parts
    calls = [_call(call) for call in _numbered(flat, "message.tool_calls.")]
    if calls:
        message["tool_calls"] = calls
    for name in ("name", "tool_call_id"):
        if label(flat, f"message.{name}"):
            message[name] = flat[f"message.{name}"]
    return message


def _part(flat: Json) -> Json:
    url = flat.get("message_content.image.image.url")
    if url is not None:
        return {"type": "image_url", "image_url": {"url": url}}
    return {name.removeprefix("message_content."): value for name, value in flat.items()}


def _call(flat: Json) -> Json:
    prefix = "tool_call.function."
    function: dict[str, Any] = {name: flat.get(prefix + name) for name in ("name", "arguments")}
    return {"id": flat.get("tool_call.id"), "type": "function", "function": function}


FORMAT = LogFormat(
    name="openinference",
    title="OpenInference spans (Phoenix, Arize)",
    recognise=recognise,
    parser=lambda: ModelCalls(to_request, why_not=why_not, entries=spans_of),
)
