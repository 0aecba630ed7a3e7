"""Langfuse observations in both spellings, and what its input counts leave out."""

import json

import pytest

from kvaudit.core.requests import Status
from kvaudit.logs.formats.langfuse import FORMAT

USER = {"role": "user", "content": "Which lake is deepest?"}
SNAKE = {
    "id": "o9",
    "trace_id": "t9",
    "project_id": "p9",
    "type": "GENERATION",
    "level": "DEFAULT",
    "start_time": "2026-11-02 08:00:00.000000",
    "completion_start_time": "2026-11-02 08:00:00.500000",
    "end_time": "2026-11-02 08:00:02.000000",
    "provided_model_name": "gpt-x",
    "model_parameters": '{"temperature": "0.2", "max_tokens": 50}',
    "input": json.dumps([USER]),
    "output": '{"role": "assistant", "content": "Baikal"}',
    "usage_details": '{"input": 180, "input_cached_tokens": 1920, "output": 3, "total": 2103}',
    "session_id": "s9",
    "user_id": "u9",
}
CAMEL = {
    "id": "o9",
    "traceId": "t9",
    "projectId": "p9",
    "type": "GENERATION",
    "level": "DEFAULT",
    "startTime": "2026-11-02T08:00:00.000Z",
    "completionStartTime": "2026-11-02T08:00:00.500Z",
    "endTime": "2026-11-02T08:00:02.000Z",
    "model": "gpt-x",
    "modelParameters": {"temperature": "0.2", "max_tokens": 50},
    "input": {"messages": [USER]},
    "output": {"role": "assistant", "content": "Baikal"},
    "usageDetails": {"input": 180, "input_cached_tokens": 1920, "output": 3, "total": 2103},
    "sessionId": "s9",
    "userId": "u9",
}


def parse(row):
    (request,) = FORMAT.parser().parse(row)
    return request


def test_both_spellings_say_the_same():
    request = parse(SNAKE)
    assert parse(CAMEL) == request
    assert list(request.messages) == [USER]
    assert (request.prompt_tokens, request.cached_tokens, request.output_tokens) == (2100, 1920, 3)
    assert (request.id, request.session, request.user) == ("o9", "s9", "u9")
    assert (request.tenant, request.model, request.temperature) == ("p9", "gpt-x", 0.2)
    assert (request.arrived_s, request.ttft_s, request.response) == (1793606400, 0.5, "Baikal")
    assert request.status is Status.OK


@pytest.mark.parametrize(
    ("usage", "prompt"),
    [
        ({"input": 180, "input_cached_tokens": 1920, "output": 3, "total": 2103}, 2100),
        ({"input": 2100, "input_cached_tokens": 1920, "output": 3, "total": 2103}, 2100),
        ({"input": 180, "input_cached_tokens": 1920, "output": 3}, 2100),
        ({"input": 80, "cache_read_input_tokens": 1920, "cache_creation_input_tokens": 100}, 2100),
        ({"input": 100, "input_audio_tokens": 80, "input_cached_tokens": 1920}, 2100),
        ({"output": 3}, None),
    ],
)
def test_the_whole_prompt(usage, prompt):
    assert parse(CAMEL | {"usageDetails": usage}).prompt_tokens == prompt


def test_what_surrounds_a_generation_is_left_out():
    parser = FORMAT.parser()
    page = {
        "data": [CAMEL | {"type": "SPAN"}, CAMEL, CAMEL | {"type": "TOOL"}],
        "meta": {"page": 1},
    }
    assert FORMAT.recognise(page)
    assert len(list(parser.parse(page))) == 1
    assert parser.skipped == {"span, event, agent or tool, not a generation": 2}


def test_errors_and_plain_text():
    request = parse(SNAKE | {"level": "ERROR", "input": "Which lake?", "output": None})
    assert (request.status, request.prompt, request.messages) == (Status.ERROR, "Which lake?", None)


def test_a_citation_is_no_json():
    assert parse(SNAKE | {"output": "[1] says Baikal"}).response == "[1] says Baikal"


def test_tools_beside_the_messages():
    given = {"messages": [USER], "tools": [{"type": "function"}]}
    assert list(parse(CAMEL | {"input": given}).tools) == [{"type": "function"}]
