"""Bodies of the provider APIs: what of them a request holds."""

import pytest

from kvaudit.core.requests import Mark
from kvaudit.logs.bodies import request_fields, response_fields
from kvaudit.logs.format import BadRecord

HELLO = {"role": "user", "content": "Hello"}
TERSE = {"role": "system", "content": "You are terse."}


def test_chat():
    tool = {"type": "function", "function": {"name": "f"}}
    body = {
        "model": "m",
        "messages": [TERSE, HELLO],
        "tools": [tool],
        "temperature": 0,
        "max_completion_tokens": 5,
        "seed": -1,
        "response_format": {"type": "json_object"},
        "cache_salt": "s",
    }
    assert request_fields(body) == {
        "model": "m",
        "messages": [TERSE, HELLO],
        "tools": [tool],
        "temperature": 0.0,
        "max_tokens": 5,
        "seed": -1,
        "response_format": {"type": "json_object"},
        "salt": "s",
    }


def test_completion_takes_text_or_token_ids():
    assert request_fields({"prompt": "Hello"}) == {"prompt": "Hello"}
    assert request_fields({"prompt": ["Hello"]}) == {"prompt": "Hello"}
    assert list(request_fields({"prompt": [1, 2]})["token_ids"]) == [1, 2]
    assert list(request_fields({"prompt": [[1, 2]]})["token_ids"]) == [1, 2]
    with pytest.raises(BadRecord, match="a batch of 2 texts"):
        request_fields({"prompt": ["a", "b"]})


def test_responses_puts_the_instructions_first():
    found = request_fields({"instructions": "You are terse.", "input": "Hello"})
    assert found["messages"] == [TERSE, HELLO]


def test_responses_with_history_on_the_server_is_marked():
    found = request_fields({"input": [HELLO], "previous_response_id": "resp_1"})
    assert found["parent"] == "resp_1"
    assert found["marks"] == {Mark.HISTORY_NOT_LOGGED}


def test_anthropic_puts_the_system_text_first():
    body = {"system": "You are terse.", "messages": [HELLO], "metadata": {"user_id": "u"}}
    found = request_fields(body)
    assert found["messages"] == [TERSE, HELLO]
    assert found["user"] == "u"


@pytest.mark.parametrize("body", [{}, {"messages": "hi"}, {"prompt": 3}, {"messages": [HELLO, 1]}])
def test_a_body_without_a_prompt_is_bad(body):
    with pytest.raises(BadRecord):
        request_fields(body)


def image(url):
    return {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}


def test_media_by_content():
    one, two = "data:image/png;base64,AAAA", "data:image/png;base64,BBBB"
    first = request_fields({"messages": [image(one), image(two), image(one)]})
    assert len(set(first["media_hashes"])) == 2
    assert first["media_hashes"][0] == first["media_hashes"][2]
    assert "marks" not in first
    source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    part = {"type": "image", "source": source}
    anthropic = {"role": "user", "content": [{"type": "tool_result", "content": [part]}]}
    assert len(request_fields({"messages": [anthropic]})["media_hashes"]) == 1


def test_media_behind_an_address_are_marked():
    found = request_fields({"messages": [image("https://example.com/cat.png")]})
    assert found["marks"] == {Mark.UNIDENTIFIED_MEDIA}


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        (
            {
                "prompt_tokens": 1300,
                "completion_tokens": 2,
                "prompt_tokens_details": {"cached_tokens": 1152},
            },
            (1300, 2, 1152),
        ),
        (
            {
                "input_tokens": 1300,
                "output_tokens": 2,
                "input_tokens_details": {"cached_tokens": 1152},
            },
            (1300, 2, 1152),
        ),
        (
            {
                "input_tokens": 12,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 1288,
                "output_tokens": 2,
            },
            (1300, 2, 1288),
        ),
        (
            {"prompt_tokens": 1300, "completion_tokens": 2, "prompt_cache_hit_tokens": 1280},
            (1300, 2, 1280),
        ),
    ],
)
def test_usage_counts_the_whole_prompt(usage, counts):
    found = response_fields({"usage": usage})
    assert (found["prompt_tokens"], found["output_tokens"], found["cached_tokens"]) == counts


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [{"message": {"role": "assistant", "content": "Lima"}}]},
        {"choices": [{"text": "Lima"}]},
        {"output": [{"type": "message", "content": [{"type": "output_text", "text": "Lima"}]}]},
        {"content": [{"type": "text", "text": "Li"}, {"type": "text", "text": "ma"}]},
    ],
)
def test_response_text(body):
    assert response_fields(body) == {"response": "Lima"}
