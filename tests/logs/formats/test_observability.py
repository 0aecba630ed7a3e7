"""Bedrock, LangSmith, Helicone and Portkey: what each calls the same things."""

import json

import pytest

from kvaudit.core.requests import Status
from kvaudit.logs.format import BadRecord
from kvaudit.logs.formats import bedrock, helicone, langsmith, portkey

QUESTION = "Which lake is deepest?"
USER = {"role": "user", "content": QUESTION}
ANSWER = {"choices": [{"message": {"role": "assistant", "content": "Baikal"}}]}


def parse(module, row):
    (request,) = module.FORMAT.parser().parse(row)
    return request


CONVERSE = {
    "system": [{"text": "Be brief."}],
    "messages": [{"role": "user", "content": [{"text": QUESTION}]}],
    "inferenceConfig": {"maxTokens": 50},
}
BEDROCK = {
    "schemaType": "ModelInvocationLog",
    "schemaVersion": "1.0",
    "timestamp": "2026-11-02T08:00:00Z",
    "accountId": "123",
    "identity": {"arn": "arn:aws:iam::123:user/u"},
    "requestId": "r9",
    "operation": "Converse",
    "modelId": "claude-x",
    "input": {
        "inputBodyJson": CONVERSE,
        "inputTokenCount": 84,
        "cacheReadInputTokenCount": 1952,
        "cacheWriteInputTokenCount": 64,
    },
    "output": {
        "outputBodyJson": {
            "output": {"message": {"role": "assistant", "content": [{"text": "Baikal"}]}},
            "usage": {
                "inputTokens": 84,
                "cacheReadInputTokens": 1952,
                "cacheReadInputTokenCount": 1952,
                "cacheWriteInputTokens": 64,
                "outputTokens": 3,
            },
        },
        "outputTokenCount": 3,
    },
}


def without(row, part, *names):
    return row | {part: {k: v for k, v in row[part].items() if k not in names}}


@pytest.mark.parametrize(
    "row",
    [
        BEDROCK,
        without(BEDROCK, "output", "outputBodyJson"),
        without(
            BEDROCK,
            "input",
            *("inputTokenCount", "cacheReadInputTokenCount", "cacheWriteInputTokenCount"),
        ),
    ],
)
def test_bedrock_counts_once(row):
    request = parse(bedrock, row)
    assert (request.prompt_tokens, request.cached_tokens, request.output_tokens) == (2100, 1952, 3)
    assert request.cache_write_5m_tokens == 64


def test_bedrock():
    request = parse(bedrock, BEDROCK)
    system = {"role": "system", "content": [{"text": "Be brief."}]}
    assert list(request.messages) == [system, *CONVERSE["messages"]]
    assert (request.id, request.model, request.tenant) == ("r9", "claude-x", "123")
    assert (request.user, request.max_tokens) == ("arn:aws:iam::123:user/u", 50)
    assert (request.response, request.status) == ("Baikal", Status.OK)
    assert parse(bedrock, BEDROCK | {"errorCode": "ThrottlingException"}).status is Status.ERROR


def test_bedrock_with_anthropics_own_body_and_stream():
    body = {"anthropic_version": "bedrock-2023-05-31", "system": "Be brief.", "messages": [USER]}
    events = [{"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Baikal"}}]
    row = BEDROCK | {"input": {"inputBodyJson": body}, "output": {"outputBodyJson": events}}
    request = parse(bedrock, row)
    assert list(request.messages) == [{"role": "system", "content": "Be brief."}, USER]
    assert request.response == "Baikal"


def test_bedrock_with_its_body_elsewhere_or_no_language_model():
    request = parse(bedrock, without(BEDROCK, "input", "inputBodyJson"))
    assert (request.messages, request.prompt_tokens) == (None, 2100)
    parser = bedrock.FORMAT.parser()
    assert not list(parser.parse(BEDROCK | {"modelId": "amazon.titan-embed-text-v2:0"}))
    assert parser.skipped == {"embedding, not a language model's call": 1}


def constructed(kind, **kwargs):
    path = ["langchain", "schema", "messages", kind]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": kwargs}


LANGSMITH = {
    "id": "5b0d",
    "trace_id": "5b0c",
    "dotted_order": "20261102T080000000000Z5b0c",
    "run_type": "llm",
    "start_time": "2026-11-02T08:00:00",
    "first_token_time": "2026-11-02T08:00:00.5",
    "end_time": "2026-11-02T08:00:02",
    "inputs": {"messages": [[USER]]},
    "outputs": {"generations": [[{"text": "Baikal"}]]},
    "extra": {
        "invocation_params": {
            "model": "gpt-x",
            "tools": [{"type": "function"}],
            "temperature": 0.2,
        },
        "metadata": {"ls_model_name": "gpt-x", "ls_max_tokens": 50, "thread_id": "s9"},
    },
    "prompt_tokens": 2100,
    "prompt_token_details": {"cache_read": 1920},
    "completion_tokens": 3,
    "session_id": "project",
}


def test_langsmith():
    request = parse(langsmith, LANGSMITH)
    assert list(request.messages) == [USER]
    assert list(request.tools) == [{"type": "function"}]
    assert (request.model, request.temperature, request.max_tokens) == ("gpt-x", 0.2, 50)
    assert (request.prompt_tokens, request.cached_tokens, request.output_tokens) == (2100, 1920, 3)
    assert (request.arrived_s, request.ttft_s, request.response) == (1793606400, 0.5, "Baikal")
    assert (request.session, request.status) == ("s9", Status.OK)
    assert parse(langsmith, LANGSMITH | {"extra": {}}).session == "5b0c"
    assert parse(langsmith, LANGSMITH | {"error": "rate limit"}).status is Status.ERROR


def test_langsmith_columns_of_a_bulk_export_are_text():
    row = LANGSMITH | {
        name: json.dumps(LANGSMITH[name])
        for name in ("inputs", "outputs", "extra", "prompt_token_details")
    }
    assert parse(langsmith, row) == parse(langsmith, LANGSMITH)


def test_langchains_own_messages():
    call = {"name": "f", "args": {"b": 1, "a": 2}, "id": "c", "type": "tool_call"}
    messages = [
        constructed("SystemMessage", content="Be brief."),
        constructed("HumanMessage", content=QUESTION, type="human"),
        constructed("AIMessageChunk", content="", tool_calls=[call]),
        constructed("ToolMessage", content="42", tool_call_id="c"),
        {"type": "human", "data": {"content": "Thanks"}},
        {"type": "ai", "content": "Welcome"},
    ]
    request = parse(langsmith, LANGSMITH | {"inputs": {"messages": [messages]}})
    roles = [message["role"] for message in request.messages]
    assert roles == ["system", "user", "assistant", "tool", "user", "assistant"]
    function = {"name": "f", "arguments": '{"b": 1, "a": 2}'}
    assert request.messages[2]["tool_calls"] == [
        {"id": "c", "type": "function", "function": function}
    ]
    assert request.messages[3]["tool_call_id"] == "c"


def test_langsmith_completions_and_other_runs():
    request = parse(langsmith, LANGSMITH | {"inputs": {"prompts": ["The deepest lake is"]}})
    assert (request.prompt, request.messages) == ("The deepest lake is", None)
    parser = langsmith.FORMAT.parser()
    assert not list(parser.parse(LANGSMITH | {"run_type": "chain"}))
    assert parser.skipped == {"chain, tool or other run, not a model call": 1}
    with pytest.raises(BadRecord, match="not a message"):
        parse(langsmith, LANGSMITH | {"inputs": {"messages": ["hi"]}})


HELICONE = {
    "request_id": "h9",
    "request_created_at": "2026-11-02 08:00:00",
    "model": "gpt-x",
    "provider": "OPENAI",
    "status": 200,
    "prompt_tokens": 2100,
    "prompt_cache_read_tokens": 1920,
    "prompt_cache_write_tokens": 0,
    "completion_tokens": 3,
    "time_to_first_token": 500,
    "latency": 2000,
    "cache_enabled": 1,
    "cache_reference_id": "00000000-0000-0000-0000-000000000000",
    "properties": {"Helicone-Session-Id": "s9"},
    "organization_id": "org",
    "request_body": json.dumps({"model": "gpt-x", "messages": [USER]}),
    "response_body": json.dumps(ANSWER),
}


def test_helicone():
    request = parse(helicone, HELICONE)
    assert list(request.messages) == [USER]
    assert (request.id, request.tenant, request.session) == ("h9", "org", "s9")
    assert (request.prompt_tokens, request.cached_tokens, request.output_tokens) == (2100, 1920, 3)
    assert (request.arrived_s, request.finished_s, request.ttft_s) == (1793606400, 1793606402, 0.5)
    assert (request.response, request.status) == ("Baikal", Status.OK)
    assert request.response_cache_hit is False


def test_helicone_adds_up_what_anthropic_counts_apart():
    row = HELICONE | {"provider": "ANTHROPIC", "prompt_tokens": 180, "response_body": "{}"}
    assert parse(helicone, row).prompt_tokens == 2100
    usage = {"input_tokens": 180, "cache_read_input_tokens": 1920, "output_tokens": 3}
    row |= {"response_body": json.dumps({"type": "message", "usage": usage})}
    assert parse(helicone, row).prompt_tokens == 2100


def test_helicones_own_cache():
    hit = parse(helicone, HELICONE | {"cache_reference_id": "8d5a"})
    assert hit.response_cache_hit is True
    assert not hit.reached_model


PORTKEY = {
    "id": "p9",
    "trace_id": "t9",
    "created_at": "2026-11-02T08:00:00Z",
    "ai_org": "openai",
    "ai_model": "gpt-x",
    "request": {"messages": [USER], "temperature": 0.2},
    "response": ANSWER,
    "req_units": 2100,
    "res_units": 3,
    "cache_status": "MISS",
    "response_time": 2000,
    "response_status_code": 200,
    "metadata": {"_user": "u9"},
}


def test_portkey():
    request = parse(portkey, PORTKEY)
    assert list(request.messages) == [USER]
    assert (request.id, request.model, request.user) == ("p9", "gpt-x", "u9")
    assert (request.session, request.temperature) == ("t9", 0.2)
    assert (request.prompt_tokens, request.output_tokens) == (2100, 3)
    assert (request.arrived_s, request.finished_s) == (1793606400, 1793606402)
    assert (request.response, request.status) == ("Baikal", Status.OK)
    as_text = {name: json.dumps(PORTKEY[name]) for name in ("request", "response", "metadata")}
    assert parse(portkey, PORTKEY | as_text) == request


@pytest.mark.parametrize(
    ("status", "hit"),
    [
        ("HIT", True),
        ("SEMANTIC HIT", True),
        ("MISS", False),
        ("SEMANTIC MISS", False),
        ("DISABLED", False),
        (None, None),
    ],
)
def test_portkeys_own_cache(status, hit):
    assert parse(portkey, PORTKEY | {"cache_status": status}).response_cache_hit is hit
