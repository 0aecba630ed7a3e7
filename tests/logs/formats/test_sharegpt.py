"""ShareGPT conversations."""

import pytest

from kvaudit.core.requests import Mark
from kvaudit.logs.format import BadRecord

ROW = {
    "id": "c1",
    "conversations": [
        {"from": "human", "value": "Capital of Peru?"},
        {"from": "gpt", "value": "Lima"},
        {"from": "human", "value": "And of Chile?"},
        {"from": "gpt", "value": "Santiago"},
        {"from": "human", "value": "Thanks"},
    ],
}


def test_one_request_an_answer(parse):
    first, second = parse("sharegpt", ROW).requests
    assert (first.id, first.session, first.parent) == ("c1/1", "c1", None)
    assert first.messages == [{"role": "user", "content": "Capital of Peru?"}]
    assert first.response == "Lima"
    assert (second.id, second.parent) == ("c1/3", "c1/1")
    assert [m["role"] for m in second.messages] == ["user", "assistant", "user"]
    assert second.messages[1]["content"] == "Lima"
    assert second.response == "Santiago"


def test_conversations_without_a_name_are_numbered(parse):
    row = {"conversations": ROW["conversations"][:2]}
    assert [r.session for r in parse("sharegpt", row, row).requests] == [
        "conversation-1",
        "conversation-2",
    ]


def test_a_conversation_that_opens_with_an_answer_was_cut(parse):
    requests = parse("sharegpt", ROW | {"conversations": ROW["conversations"][1:]}).requests
    assert {r.marks for r in requests} == {frozenset({Mark.HISTORY_NOT_LOGGED})}


def test_no_answer_no_request(parse):
    parsed = parse("sharegpt", {"conversations": [{"from": "human", "value": "?"}]})
    assert parsed.requests == []
    assert sum(parsed.skipped.values()) == 1


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        ([{"from": "nobody", "value": "?"}], "a turn of an unknown speaker"),
        ([{"from": "human", "value": ["?"]}], "value"),
        ("?", "conversations"),
        (None, "conversations"),
    ],
)
def test_a_row_that_cannot_be_understood_says_why(parse, turns, reason):
    with pytest.raises(BadRecord, match=reason):
        parse("sharegpt", {"conversations": turns})
