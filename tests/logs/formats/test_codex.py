"""Codex rollouts: a count ends a request, the items before it are its prompt."""

from kvaudit.core.requests import Mark
from kvaudit.logs.formats.codex import FORMAT


def row(kind, payload, second=0):
    return {"timestamp": f"2026-11-02T08:00:{second:02}Z", "type": kind, "payload": payload}


def said(role, text, second=0):
    part = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
    return row("response_item", {"type": "message", "role": role, "content": [part]}, second)


def counted(total, prompt, cached, second=0):
    last = {"input_tokens": prompt, "cached_input_tokens": cached, "output_tokens": 4}
    info = {"total_token_usage": {"input_tokens": total}, "last_token_usage": last}
    return row("event_msg", {"type": "token_count", "info": info}, second)


META = row("session_meta", {"id": "s", "base_instructions": {"text": "You are Codex."}})
CONTEXT = row("turn_context", {"model": "gpt-x"})
CALL = row(
    "response_item",
    {"type": "function_call", "name": "shell", "arguments": '{"cmd":"ls"}', "call_id": "c"},
)
RESULT = row("response_item", {"type": "function_call_output", "call_id": "c", "output": "a.py"}, 5)
THOUGHT = row("response_item", {"type": "reasoning", "encrypted_content": "zz"})


def parse(*rows):
    parser = FORMAT.parser()
    requests = [request for each in rows for request in parser.parse(each)]
    return [*requests, *parser.finish()], parser


def roles(request):
    return [message["role"] for message in request.messages]


def test_two_requests_of_one_turn():
    (first, second), parser = parse(
        META,
        CONTEXT,
        said("user", "List the files", 1),
        THOUGHT,
        CALL,
        counted(100, 100, 0, 3),
        RESULT,
        said("assistant", "There is a.py", 7),
        counted(240, 140, 96, 8),
    )
    assert roles(first) == ["system", "user"]
    assert roles(second) == ["system", "user", "assistant", "assistant", "tool"]
    assert second.messages[: len(first.messages)] == first.messages
    assert (first.prompt_tokens, second.prompt_tokens, second.cached_tokens) == (100, 140, 96)
    assert (first.session, first.model, first.id, second.parent) == ("s", "gpt-x", "s-1", "s-1")
    assert second.response == "There is a.py"
    assert second.finished_s - second.arrived_s == 3
    assert [note.topic for note in parser.notes] == ["prompt-understated"]


def test_a_count_that_comes_before_its_items():
    # Older versions wrote the items after the count.
    first, second = parse(
        META, said("user", "List"), counted(9, 9, 0), CALL, RESULT, counted(29, 20, 9)
    )[0]
    assert roles(first) == ["system", "user"]
    assert roles(second) == ["system", "user", "assistant", "tool"]


def test_a_count_that_repeats_is_no_request():
    limits = row("event_msg", {"type": "token_count", "info": None, "rate_limits": {}})
    requests, parser = parse(META, limits, said("user", "Hi"), counted(9, 9, 0), counted(9, 9, 0))
    assert len(requests) == 1
    assert parser.skipped == {"token count without a new request": 2}


def test_a_compaction_replaces_the_history():
    kept = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "S"}]}]
    before = (META, said("user", "Hi"), said("assistant", "Ho"), counted(9, 9, 0))
    after = (said("user", "And?"), counted(20, 11, 0))
    told = parse(*before, row("compacted", {"replacement_history": kept}), *after)[0][1]
    assert roles(told) == ["user", "user"]
    assert not told.marks
    untold = parse(*before, row("compacted", {"message": "summary"}), *after)[0][1]
    assert untold.marks == {Mark.HISTORY_NOT_LOGGED}


def test_other_lines_say_nothing():
    snapshot = row("response_item", {"type": "ghost_snapshot", "ghost_commit": {}})
    event = row("event_msg", {"type": "agent_message", "message": "Ho"})
    (request,) = parse(META, said("user", "Hi"), snapshot, event, counted(9, 9, 0))[0]
    assert roles(request) == ["system", "user"]
