"""Bodies of the provider APIs: what of them a request holds."""

import pytest

from kvaudit.core.requests import Mark
from kvaudit.logs.api.bodies import is_request, make_request, request_fields
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


def test_anthropic_blocks_keep_their_breakpoints():
    system = [{"type": "text", "text": "Terse.", "cache_control": {"type": "ephemeral"}}]
    tool = {"name": "f", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}
    found = request_fields({"system": system, "messages": [HELLO], "tools": [tool]})
    assert found["messages"] == [{"role": "system", "content": system}, HELLO]
    assert found["tools"] == [tool]


def test_converse_and_gemini_say_the_same():
    converse = {
        "system": [{"text": "You are terse."}],
        "messages": [{"role": "user", "content": [{"text": "Hello"}]}],
        "inferenceConfig": {"maxTokens": 5, "temperature": 0.5, "topP": 0.9},
        "toolConfig": {"tools": [{"toolSpec": {"name": "f"}}]},
    }
    found = request_fields(converse)
    assert found["messages"][0] == {"role": "system", "content": [{"text": "You are terse."}]}
    assert (found["max_tokens"], found["temperature"], found["top_p"]) == (5, 0.5, 0.9)
    assert found["tools"] == [{"toolSpec": {"name": "f"}}]
    gemini = {
        "systemInstruction": {"parts": [{"text": "You are terse."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Hello"}]},
            {"role": "model", "parts": [{"text": "Hi"}]},
        ],
        "generationConfig": {"maxOutputTokens": 5, "temperature": 0.5, "topP": 0.9},
    }
    found = request_fields(gemini)
    assert [m["role"] for m in found["messages"]] == ["system", "user", "assistant"]
    assert (found["max_tokens"], found["temperature"], found["top_p"]) == (5, 0.5, 0.9)


def test_items_of_the_responses_api_become_messages_and_differ_where_they_differ():
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c", "output": "42"}
    thought = {"type": "reasoning", "encrypted_content": "xyz"}
    found = request_fields({"model": "m", "input": [HELLO, thought, call, result]})
    function = {"name": "f", "arguments": "{}"}
    tool_calls = [{"id": "c", "type": "function", "function": function}]
    assert found["messages"] == [
        HELLO,
        {"role": "assistant", "content": [thought]},
        {"role": "assistant", "content": None, "tool_calls": tool_calls},
        {"role": "tool", "tool_call_id": "c", "content": "42"},
    ]


@pytest.mark.parametrize(
    "more",
    [
        {"conversation": "conv_1"},
        {"conversation": {"id": "conv_1"}},
        {"input": [{"type": "item_reference", "id": "i"}]},
    ],
)
def test_whatever_else_the_server_held_is_marked(more):
    body = {"instructions": "You are terse.", "input": "Hello"} | more
    assert request_fields(body)["marks"] == {Mark.HISTORY_NOT_LOGGED}


def test_the_older_spelling_of_tools():
    found = request_fields({"messages": [HELLO], "functions": [{"name": "f"}]})
    assert found["tools"] == [{"type": "function", "function": {"name": "f"}}]


def test_an_embedding_is_no_request():
    assert not is_request({"model": "text-embedding-x", "input": "Hello"})
    assert not is_request({"model": "m", "input": "Hello", "encoding_format": "float"})
    assert is_request({"model": "m", "input": "Hello"})


def test_the_first_source_that_says_something_wins_and_marks_add_up():
    request = make_request(
        {"model": None, "user": "u", "marks": frozenset({Mark.TRUNCATED_PROMPT})},
        {"model": "m", "user": "v", "marks": frozenset({Mark.UNIDENTIFIED_MEDIA})},
    )
    assert (request.id, request.model, request.user) == ("", "m", "u")
    assert request.marks == {Mark.TRUNCATED_PROMPT, Mark.UNIDENTIFIED_MEDIA}


def test_what_a_providers_cache_obeys_beside_the_text_is_kept_as_sent():
    body = {
        "model": "claude-opus-5",
        "system": "S",
        "messages": [{"role": "user", "content": "Hi"}],
        "cache_control": {"type": "ephemeral"},
        "tool_choice": {"type": "auto"},
        "temperature": 0.5,
    }
    assert request_fields(body)["cache_options"] == {
        "cache_control": {"type": "ephemeral"},
        "tool_choice": {"type": "auto"},
    }
    assert "cache_options" not in request_fields({"messages": body["messages"]})
