"""Anthropic Messages: system first, breakpoints kept, three counts added up."""

import pytest

from kvaudit.core.requests import Mark, Status
from kvaudit.logs.formats.anthropic import FORMAT

USER = {"role": "user", "content": "Which lake is deepest?"}
BLOCK = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
ANSWER = {
    "id": "msg_9",
    "type": "message",
    "model": "claude-x",
    "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Baikal"}],
    "usage": {
        "input_tokens": 20,
        "cache_creation_input_tokens": 30,
        "cache_read_input_tokens": 2050,
        "output_tokens": 3,
        "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
    },
}
SENT = {
    "model": "claude-x",
    "max_tokens": 50,
    "system": [BLOCK],
    "messages": [USER],
    "metadata": {"user_id": "u"},
}


def parse(row):
    (request,) = FORMAT.parser().parse(row)
    return request


def test_request_and_response():
    request = parse({"ts": 1793606400, "request": SENT, "response": ANSWER})
    assert list(request.messages) == [{"role": "system", "content": [BLOCK]}, USER]
    assert (request.prompt_tokens, request.cached_tokens, request.output_tokens) == (2100, 2050, 3)
    assert (request.cache_write_5m_tokens, request.cache_write_1h_tokens) == (10, 20)
    assert (request.id, request.user, request.response) == ("msg_9", "u", "Baikal")
    assert (request.status, request.max_tokens) == (Status.OK, 50)


def test_tool_blocks_stay_in_the_messages():
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {"b": 1, "a": 2}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "42"}
    messages = [
        USER,
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    assert list(parse({"messages": messages, "system": "Be brief."}).messages)[1:] == messages


@pytest.mark.parametrize(
    ("source", "marks"),
    [
        ({"type": "base64", "media_type": "image/png", "data": "AAAA"}, set()),
        ({"type": "file", "file_id": "f"}, set()),
        ({"type": "url", "url": "https://example.com/a.png"}, {Mark.UNIDENTIFIED_MEDIA}),
    ],
)
def test_images(source, marks):
    content = [{"type": "image", "source": source}, {"type": "text", "text": "What is it?"}]
    request = parse({"system": "Be brief.", "messages": [{"role": "user", "content": content}]})
    assert len(request.media_hashes) == 1
    assert request.marks == marks


def test_lines_of_its_batches():
    assert parse({"custom_id": "a", "params": SENT}).id == "a"
    done = {"custom_id": "a", "result": {"type": "succeeded", "message": ANSWER}}
    assert (parse(done).cached_tokens, parse(done).status) == (2050, Status.OK)
