"""SWE-agent trajectories, old and new."""

import pytest

from kvaudit.logs.format import BadRecord

HISTORY = [
    {"role": "system", "content": "You fix bugs.", "agent": "main"},
    {"role": "user", "content": "Fix this.", "agent": "main"},
    {"role": "assistant", "content": "Looking.", "thought": "hm", "agent": "main",
     "tool_calls": [{"id": "c1", "function": {"name": "ls", "arguments": "{}"}}]},
    {"role": "tool", "content": "a.py", "agent": "main", "tool_call_ids": ["c1"]},
    {"role": "assistant", "content": "Done.", "agent": "main"},
]  # fmt: skip
ROW = {"environment": "main", "history": HISTORY, "trajectory": [{"response": "Looking."}],
       "info": {}}  # fmt: skip


def test_every_step_is_a_request_with_what_stood_before(parse):
    first, second = parse("swe_agent", ROW).requests
    assert [m["role"] for m in first.messages] == ["system", "user"]
    assert first.response == "Looking."
    assert second.messages[2] == {
        "role": "assistant",
        "content": "Looking.",
        "tool_calls": HISTORY[2]["tool_calls"],
    }
    assert second.messages[3] == {"role": "tool", "content": "a.py", "tool_call_id": "c1"}
    assert second.parent == first.id
    assert first.session == second.session == "main-1"


def test_agents_do_not_see_each_other(parse):
    other = [turn | {"agent": "reviewer"} for turn in HISTORY[:3]]
    requests = parse("swe_agent", ROW | {"history": HISTORY + other}).requests
    assert [r.session for r in requests] == ["main-1/main", "main-1/main", "main-1/reviewer"]
    assert len(requests[2].messages) == 2


def test_the_query_is_what_was_sent(parse):
    steps = [
        {"query": HISTORY[:2], "response": "Looking."},
        {"query": [HISTORY[0], HISTORY[3]], "response": "Done."},
    ]
    first, second = parse("swe_agent", ROW | {"trajectory": steps}).requests
    assert [m["role"] for m in second.messages] == ["system", "tool"]
    assert (first.response, second.response) == ("Looking.", "Done.")
    assert second.parent == first.id


def test_a_row_that_cannot_be_understood_says_why(parse):
    with pytest.raises(BadRecord, match="trajectory or history"):
        parse("swe_agent", ROW | {"history": None})
    with pytest.raises(BadRecord, match="role"):
        parse("swe_agent", ROW | {"history": [{"content": "x"}]})
