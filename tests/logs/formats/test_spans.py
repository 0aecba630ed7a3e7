"""OpenTelemetry and OpenInference spans in every shape they are exported in."""

import gzip
import json

import pytest

from kvaudit.core.requests import Mark, Status
from kvaudit.logs.formats import openinference, opentelemetry
from kvaudit.logs.read import LogReader

PIXEL = "data:image/png;base64,AAAA"
QUESTION = "Which lake is deepest?"
USER = {"role": "user", "content": QUESTION}
GENAI = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "gpt-x",
    "gen_ai.request.temperature": 0.2,
    "gen_ai.request.max_tokens": 50,
    "gen_ai.conversation.id": "s9",
    "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "Be brief."}]),
    "gen_ai.input.messages": json.dumps(
        [{"role": "user", "parts": [{"type": "text", "content": QUESTION}]}]
    ),
    "gen_ai.output.messages": json.dumps(
        [{"role": "assistant", "parts": [{"type": "text", "content": "Baikal"}]}]
    ),
    "gen_ai.tool.definitions": json.dumps([{"type": "function", "name": "f"}]),
    "gen_ai.usage.input_tokens": 2100,
    "gen_ai.usage.output_tokens": 3,
    "gen_ai.usage.cache_read.input_tokens": 1920,
    "gen_ai.usage.cache_creation.input_tokens": 64,
    "gen_ai.response.time_to_first_chunk": 0.5,
}


def typed(value):
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}


def otlp(attributes):
    return {
        "traceId": "t9",
        "spanId": "p9",
        "startTimeUnixNano": "1793606400000000000",
        "endTimeUnixNano": "1793606402000000000",
        "attributes": [{"key": k, "value": typed(v)} for k, v in attributes.items()],
        "status": {},
    }


FLAT = {
    "context": {"trace_id": "t9", "span_id": "p9"},
    "start_time": "2026-11-02T08:00:00Z",
    "end_time": "2026-11-02T08:00:02Z",
    "attributes": GENAI,
    "status": {"status_code": "UNSET"},
}
SHAPES = [
    otlp(GENAI),
    {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": [otlp(GENAI)]}]}]},
    {"spans": [FLAT]},
    FLAT,
]


def parse(module, row):
    return list(module.FORMAT.parser().parse(row))


@pytest.mark.parametrize("row", SHAPES)
def test_every_shape_says_the_same(row):
    (request,) = parse(opentelemetry, row)
    assert list(request.messages) == [{"role": "system", "content": "Be brief."}, USER]
    assert (request.id, request.model, request.session) == ("p9", "gpt-x", "s9")
    assert (request.prompt_tokens, request.cached_tokens, request.output_tokens) == (2100, 1920, 3)
    assert (request.cache_write_5m_tokens, request.ttft_s) == (64, 0.5)
    assert (request.arrived_s, request.finished_s) == (1793606400, 1793606402)
    assert (request.temperature, request.max_tokens, request.response) == (0.2, 50, "Baikal")
    assert list(request.tools) == [{"type": "function", "name": "f"}]
    assert request.status is Status.OK


OLD = [
    {"gen_ai.prompt": json.dumps([USER])},
    {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": QUESTION},
    {"gen_ai.input.messages": [USER]},
]


@pytest.mark.parametrize("attributes", OLD)
def test_older_names(attributes):
    older = {
        "gen_ai.system": "openai",
        "gen_ai.request.model": "gpt-x",
        "gen_ai.usage.prompt_tokens": 2100,
        "gen_ai.usage.completion_tokens": 3,
        "llm.request.type": "chat",
        "gen_ai.completion.0.content": "Baikal",
    }
    (request,) = parse(opentelemetry, FLAT | {"attributes": older | attributes})
    assert list(request.messages) == [USER]
    assert (request.prompt_tokens, request.output_tokens) == (2100, 3)
    assert request.response == "Baikal"


@pytest.mark.parametrize(
    "event",
    [
        {"name": "gen_ai.user.message", "attributes": {"content": QUESTION}},
        {"name": "gen_ai.content.prompt", "attributes": {"gen_ai.prompt": json.dumps([USER])}},
        {
            "name": "gen_ai.client.inference.operation.details",
            "attributes": {"gen_ai.input.messages": GENAI["gen_ai.input.messages"]},
        },
    ],
)
def test_messages_in_events(event):
    bare = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-x"}
    (request,) = parse(opentelemetry, FLAT | {"attributes": bare, "events": [event]})
    assert list(request.messages) == [USER]


def test_tool_parts_and_media():
    parts = [
        {"role": "user", "parts": [{"type": "blob", "modality": "image", "content": "AAAA"}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "content": "Let me see"},
                {"type": "tool_call", "id": "c", "name": "f", "arguments": {"b": 1, "a": 2}},
            ],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "42"}]},
        {"role": "user", "parts": [{"type": "uri", "modality": "image", "uri": "gs://b/cat"}]},
    ]
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(parts)}
    (request,) = parse(opentelemetry, FLAT | {"attributes": attributes})
    function = {"name": "f", "arguments": '{"b": 1, "a": 2}'}
    assert request.messages[1:3] == [
        {
            "role": "assistant",
            "content": "Let me see",
            "tool_calls": [{"id": "c", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "42"},
    ]
    assert len(request.media_hashes) == 2
    assert request.marks == {Mark.UNIDENTIFIED_MEDIA}


@pytest.mark.parametrize(
    "status", [{"code": 2}, {"code": "STATUS_CODE_ERROR"}, {"status_code": "ERROR"}]
)
def test_failures(status):
    (request,) = parse(opentelemetry, FLAT | {"status": status})
    assert request.status is Status.ERROR


def test_only_model_calls_count():
    agent = FLAT | {"attributes": {"gen_ai.operation.name": "invoke_agent"}}
    web = FLAT | {"attributes": {"http.route": "/chat"}}
    parser = opentelemetry.FORMAT.parser()
    assert len(list(parser.parse({"spans": [agent, FLAT, web]}))) == 1
    assert parser.skipped == {
        "span of an agent, tool or embedding, not a model call": 1,
        "span without GenAI attributes, not a model call": 1,
    }


def test_real_traces(shared_data):
    packed = shared_data / "traces" / "otel_genai_inference_perf.jsonl.gz"
    reader = LogReader([packed])
    requests = list(reader)
    assert (reader.format_name, reader.records, reader.broken) == ("otel-genai", 9, 0)
    rows = gzip.decompress(packed.read_bytes()).splitlines()
    spans = [span for row in rows for span in json.loads(row)["spans"]]
    assert [r.id for r in requests] == [span["span_id"] for span in spans]
    sent = [json.loads(span["attributes"]["gen_ai.input.messages"]) for span in spans]
    assert [list(r.messages) for r in requests] == sent
    assert all(r.session for r in requests[:15])
    assert sum(r.response is not None for r in requests) == 73


OPENINFERENCE = {
    "openinference.span.kind": "LLM",
    "llm.model_name": "gpt-x",
    "llm.invocation_parameters": '{"temperature": 0.2, "max_tokens": 50}',
    "llm.input_messages.0.message.role": "system",
    "llm.input_messages.0.message.content": "Be brief.",
    "llm.input_messages.1.message.role": "user",
    "llm.input_messages.1.message.content": QUESTION,
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.content": "Baikal",
    "llm.tools.0.tool.json_schema": '{"type": "function"}',
    "llm.token_count.prompt": 2100,
    "llm.token_count.completion": 3,
    "llm.token_count.prompt_details.cache_read": 1920,
    "session.id": "s9",
    "user.id": "u9",
}
NESTED = {
    "openinference": {"span": {"kind": "LLM"}},
    "llm": {
        "model_name": "gpt-x",
        "invocation_parameters": '{"temperature": 0.2, "max_tokens": 50}',
        "input_messages": [
            {"message": {"role": "system", "content": "Be brief."}},
            {"message": {"role": "user", "content": QUESTION}},
        ],
        "output_messages": [{"message": {"role": "assistant", "content": "Baikal"}}],
        "tools": [{"tool": {"json_schema": '{"type": "function"}'}}],
        "token_count": {
            "prompt": 2100,
            "completion": 3,
            "prompt_details": {"cache_read": 1920},
        },
    },
    "session": {"id": "s9"},
    "user": {"id": "u9"},
}
COLUMNS = {
    "context.span_id": "p9",
    "start_time": "2026-11-02T08:00:00Z",
    "end_time": "2026-11-02T08:00:02Z",
    "status_code": "OK",
} | {f"attributes.{name}": value for name, value in OPENINFERENCE.items()}


@pytest.mark.parametrize(
    "row",
    [
        FLAT | {"attributes": OPENINFERENCE},
        FLAT | {"attributes": NESTED},
        otlp(OPENINFERENCE),
        COLUMNS,
    ],
)
def test_openinference(row):
    assert openinference.FORMAT.recognise(row)
    (request,) = parse(openinference, row)
    assert list(request.messages) == [{"role": "system", "content": "Be brief."}, USER]
    assert (request.id, request.session, request.user) == ("p9", "s9", "u9")
    assert (request.prompt_tokens, request.cached_tokens, request.output_tokens) == (2100, 1920, 3)
    assert (request.temperature, request.max_tokens, request.response) == (0.2, 50, "Baikal")
    assert list(request.tools) == [{"type": "function"}]
    assert request.arrived_s == 1793606400


def test_openinference_parts_and_calls():
    prefix = "llm.input_messages."
    attributes = {
        "openinference.span.kind": "LLM",
        f"{prefix}0.message.role": "user",
        f"{prefix}0.message.contents.0.message_content.type": "text",
        f"{prefix}0.message.contents.0.message_content.text": "See",
        f"{prefix}0.message.contents.1.message_content.type": "image",
        f"{prefix}0.message.contents.1.message_content.image.image.url": PIXEL,
        f"{prefix}1.message.role": "assistant",
        f"{prefix}1.message.tool_calls.0.tool_call.id": "c",
        f"{prefix}1.message.tool_calls.0.tool_call.function.name": "f",
        f"{prefix}1.message.tool_calls.0.tool_call.function.arguments": "{}",
        f"{prefix}2.message.role": "tool",
        f"{prefix}2.message.tool_call_id": "c",
        f"{prefix}2.message.content": "42",
    }
    (request,) = parse(openinference, FLAT | {"attributes": attributes})
    assert request.messages[0]["content"][0] == {"type": "text", "text": "See"}
    assert len(request.media_hashes) == 1
    function = {"name": "f", "arguments": "{}"}
    assert request.messages[1]["tool_calls"] == [
        {"id": "c", "type": "function", "function": function}
    ]
    assert request.messages[2] == {"role": "tool", "content": "42", "tool_call_id": "c"}


def test_openinference_counts_only_model_calls():
    parser = openinference.FORMAT.parser()
    chain = FLAT | {"attributes": OPENINFERENCE | {"openinference.span.kind": "CHAIN"}}
    assert not list(parser.parse(chain))
    assert parser.skipped == {"chain, tool or retriever span, not a model call": 1}
