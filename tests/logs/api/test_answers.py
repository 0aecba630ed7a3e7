"""Response bodies: text, how it ended, and streams joined."""

import json

import pytest

from kvaudit.core.requests import Status
from kvaudit.logs.api.answers import http_status, response_fields

WHOLE = [
    {"choices": [{"message": {"role": "assistant", "content": "Lima"}}]},
    {"choices": [{"text": "Lima"}]},
    {"output": [{"type": "message", "content": [{"type": "output_text", "text": "Lima"}]}]},
    {"content": [{"type": "text", "text": "Li"}, {"type": "text", "text": "ma"}]},
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "Lima"}]}}]},
    {"output": {"message": {"role": "assistant", "content": [{"text": "Lima"}]}}},
    {
        "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Peru"}]},
            {"type": "message", "content": [{"type": "output_text", "text": "Lima"}]},
        ]
    },
]
CHAT_CHUNKS = [
    {"id": "c1", "model": "m", "choices": [{"delta": {"role": "assistant", "content": ""}}]},
    {"id": "c1", "choices": [{"delta": {"content": "Li"}}]},
    {"id": "c1", "choices": [{"delta": {"content": "ma"}}]},
    {"id": "c1", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}},
]
ANTHROPIC_EVENTS = [
    {
        "type": "message_start",
        "message": {
            "id": "c1",
            "model": "m",
            "content": [],
            "usage": {"input_tokens": 2, "cache_read_input_tokens": 7, "output_tokens": 1},
        },
    },
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Li"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ma"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
]
RESPONSES_EVENTS = [
    {"type": "response.created", "response": {"id": "c1", "model": "m", "status": "in_progress"}},
    {"type": "response.output_text.delta", "delta": "Lima"},
    {
        "type": "response.completed",
        "response": {
            "id": "c1",
            "status": "completed",
            "output": [{"type": "message", "content": [{"type": "output_text", "text": "Lima"}]}],
            "usage": {"input_tokens": 9, "input_tokens_details": {}, "output_tokens": 2},
        },
    },
]


@pytest.mark.parametrize("body", WHOLE)
def test_response_text(body):
    assert response_fields(body) == {"response": "Lima", "status": Status.OK}


@pytest.mark.parametrize("events", [CHAT_CHUNKS, ANTHROPIC_EVENTS, RESPONSES_EVENTS])
@pytest.mark.parametrize("as_text", [False, True])
def test_a_stream_reads_like_the_whole_body(events, as_text):
    logged = events
    if as_text:
        logged = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n"
    found = response_fields(logged)
    assert found["response"] == "Lima"
    assert (found["prompt_tokens"], found["output_tokens"]) == (9, 2)
    assert (found["id"], found["model"], found["status"]) == ("c1", "m", Status.OK)


def test_a_tool_call_is_no_text():
    call = {"id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    assert "response" not in response_fields({"choices": [{"message": message}]})


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"error": {"message": "overloaded"}}, Status.ERROR),
        ({"type": "error", "error": {"type": "overloaded_error"}}, Status.ERROR),
        ({"status": "failed", "output": []}, Status.ERROR),
        ({"status": "cancelled", "output": []}, Status.CANCELLED),
        ({"status": "incomplete", "output": []}, Status.OK),
        ({"id": "x"}, None),
    ],
)
def test_how_it_ended(body, status):
    assert response_fields(body).get("status") is status


@pytest.mark.parametrize("nothing", [None, "", "{}", {}, [], "free text", 3, [1, "two"], [[{}]]])
def test_no_body_says_nothing(nothing):
    assert response_fields(nothing) == {}


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (200, Status.OK),
        ("200", Status.OK),
        (429, Status.ERROR),
        (499, Status.CANCELLED),
        ("ok", None),
        (7, None),
        (None, None),
    ],
)
def test_http_status(code, status):
    assert http_status(code) is status
