"""Bailian rows: chains of chat turns."""

import pytest

from kvaudit.logs.format import BadRecord


def row(chat, parent, **more):
    return {
        "chat_id": chat,
        "parent_chat_id": parent,
        "timestamp": 61.114,
        "input_length": 40,
        "output_length": 12,
        "type": "text",
        "turn": 1,
        "hash_ids": [10, 11, 12],
    } | more


def test_a_session_is_the_chain_of_turns(parse):
    a, b, c, other = parse(
        "bailian", row(159, -1), row(160, 159), row(161, 160), row(7, 3)
    ).requests
    assert [r.session for r in (a, b, c)] == ["159", "159", "159"]
    assert [r.parent for r in (a, b, c)] == [None, "159", "160"]
    assert (other.session, other.parent) == ("3", "3")


def test_seconds_and_sixteen_tokens_a_block(parse):
    (request,) = parse("bailian", row(159, -1)).requests
    assert request.id == "159"
    assert request.arrived_s == 61.114
    assert request.block_tokens == 16
    assert list(request.block_ids) == [10, 11, 12]
    assert (request.prompt_tokens, request.output_tokens) == (40, 12)


@pytest.mark.parametrize("field", ["chat_id", "hash_ids"])
def test_identity_is_required(parse, field):
    with pytest.raises(BadRecord, match=field):
        parse("bailian", row(1, -1, **{field: None}))
