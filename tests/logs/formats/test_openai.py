"""OpenAI's formats: chat, completions, Responses and Batch, with what stands around the bodies."""

import pytest

from kvaudit.core.requests import Mark, Status
from kvaudit.logs.format import BadRecord
from kvaudit.logs.formats import openai_batch, openai_chat, openai_responses

SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "Which lake is deepest?"}
TOOL = {"type": "function", "function": {"name": "look_up", "parameters": {"b": 1, "a": 2}}}
CHAT = {
    "model": "gpt-x",
    "messages": [SYSTEM, USER],
    "tools": [TOOL],
    "temperature": 0.2,
    "top_p": 0.9,
    "seed": 7,
    "max_tokens": 50,
    "response_format": {"type": "json_object"},
    "prompt_cache_key": "k",
    "user": "u",
}
ANSWER = {
    "id": "chatcmpl-9",
    "created": 1793606401,
    "model": "gpt-x-2026",
    "choices": [{"message": {"role": "assistant", "content": "Baikal"}}],
    "usage": {
        "prompt_tokens": 2100,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 1920},
    },
}


def parse(module, row):
    (request,) = module.FORMAT.parser().parse(row)
    return request


@pytest.mark.parametrize("name", ["request", "body", "params", "input"])
def test_a_wrapped_chat(name):
    row = {"ts": "2026-11-02T08:00:00Z", name: CHAT, "response": ANSWER, "session_id": "s"}
    request = parse(openai_chat, row)
    assert list(request.messages) == [SYSTEM, USER]
    assert list(request.tools) == [TOOL]
    assert list(request.tools[0]["function"]["parameters"]) == ["b", "a"]
    assert (request.id, request.model, request.user) == ("chatcmpl-9", "gpt-x", "u")
    assert (request.session, request.prompt_cache_key) == ("s", "k")
    assert (request.arrived_s, request.status) == (1793606400.0, Status.OK)
    assert (request.prompt_tokens, request.cached_tokens, request.output_tokens) == (2100, 1920, 3)
    assert (request.temperature, request.top_p, request.seed) == (0.2, 0.9, 7)
    assert (request.max_tokens, request.response_format) == (50, {"type": "json_object"})
    assert request.response == "Baikal"


def test_parameters_that_were_omitted_are_not_zero():
    request = parse(openai_chat, {"messages": [USER]})
    assert request.temperature is request.seed is request.max_tokens is request.arrived_s is None
    assert (request.id, request.status) == ("", Status.UNKNOWN)


def test_tool_traffic_is_kept():
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    messages = [
        USER,
        {"role": "assistant", "content": None, "tool_calls": calls, "reasoning_content": "hm"},
        {"role": "tool", "tool_call_id": "c", "content": "42"},
    ]
    assert list(parse(openai_chat, {"messages": messages}).messages) == messages


@pytest.mark.parametrize(
    ("row", "status"),
    [
        ({"error": {"message": "overloaded"}}, Status.ERROR),
        ({"status_code": 503}, Status.ERROR),
        ({"status": 499}, Status.CANCELLED),
        ({"status": "success"}, Status.OK),
        ({"response": {"error": {"message": "too long"}}}, Status.ERROR),
    ],
)
def test_how_it_ended(row, status):
    assert parse(openai_chat, {"request": CHAT} | row).status is status


def test_answers_alone_have_counts():
    request = parse(openai_chat, ANSWER)
    assert (request.messages, request.prompt_tokens, request.cached_tokens) == (None, 2100, 1920)


def test_a_streamed_answer():
    chunks = [{"id": "c", "choices": [{"delta": {"content": part}}]} for part in ("Bai", "kal")]
    assert parse(openai_chat, {"request": CHAT, "response": chunks}).response == "Baikal"


@pytest.mark.parametrize(
    "row", [{"messages": "hi"}, {"messages": [USER, 4]}, {"prompt": {}}, {"model": "m"}]
)
def test_what_is_no_chat_is_bad(row):
    with pytest.raises(BadRecord):
        parse(openai_chat, row)


def test_responses_with_history_on_the_server():
    row = {"model": "gpt-x", "input": "And?", "previous_response_id": "resp_8"}
    request = parse(openai_responses, row)
    assert (request.parent, request.marks) == ("resp_8", {Mark.HISTORY_NOT_LOGGED})


def test_a_response_object_with_its_input():
    row = {
        "id": "resp_9",
        "object": "response",
        "created_at": 1793606400,
        "status": "completed",
        "model": "gpt-x",
        "instructions": "Be brief.",
        "input": "Which lake is deepest?",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Baikal"}]}],
        "usage": {
            "input_tokens": 2100,
            "input_tokens_details": {"cached_tokens": 1920},
            "output_tokens": 3,
        },
    }
    request = parse(openai_responses, row)
    assert list(request.messages) == [SYSTEM, USER]
    assert (request.id, request.arrived_s, request.response) == ("resp_9", 1793606400.0, "Baikal")
    assert (request.prompt_tokens, request.cached_tokens) == (2100, 1920)
    assert not request.marks


def test_batch_input_and_output():
    sent = {"custom_id": "b1", "method": "POST", "url": "/v1/chat/completions", "body": CHAT}
    request = parse(openai_batch, sent)
    assert (request.id, list(request.messages)) == ("b1", [SYSTEM, USER])
    answered = {"custom_id": "b1", "response": {"status_code": 200, "body": ANSWER}, "error": None}
    request = parse(openai_batch, answered)
    assert (request.id, request.status, request.cached_tokens) == ("b1", Status.OK, 1920)
    request = parse(openai_batch, sent | answered)
    assert (list(request.messages), request.cached_tokens) == ([SYSTEM, USER], 1920)


@pytest.mark.parametrize(
    "row",
    [
        {"custom_id": "b1", "response": None, "error": {"code": "batch_expired"}},
        {"custom_id": "b1", "response": {"status_code": 400, "body": {"error": {}}}},
    ],
)
def test_batch_lines_that_failed(row):
    assert parse(openai_batch, row).status is Status.ERROR


def test_batches_of_other_endpoints_are_left_out():
    parser = openai_batch.FORMAT.parser()
    row = {"custom_id": "e", "url": "/v1/embeddings", "body": {"model": "m", "input": "x"}}
    assert not list(parser.parse(row))
    assert parser.skipped == {"batch line of another endpoint, not a model call": 1}
