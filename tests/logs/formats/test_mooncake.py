"""Mooncake rows, and what other tools add to them."""

import pytest

from kvaudit.logs.format import BadRecord

ROW = {"timestamp": 27482, "input_length": 1300, "output_length": 52, "hash_ids": [46, 47, 2366]}


def test_a_row_becomes_a_request_in_seconds(parse):
    (request,) = parse("mooncake", ROW).requests
    assert request.id == ""
    assert request.arrived_s == 27.482
    assert list(request.block_ids) == [46, 47, 2366]
    assert request.block_tokens == 512
    assert request.block_scope is None
    assert (request.prompt_tokens, request.output_tokens) == (1300, 52)


def test_turns_of_a_session_follow_each_other(parse):
    first = ROW | {"request_id": "a", "session_id": "s", "timestamp": 1000}
    by_delay = {"request_id": "b", "session_id": "s", "delay": 500, "hash_ids": [46]}
    other = ROW | {"request_id": "c", "session_id": "t"}
    a, b, c = parse("mooncake", first, by_delay, other).requests
    assert (a.parent, b.parent, c.parent) == (None, "a", None)
    assert (a.session, b.session) == ("s", "s")
    assert (a.arrived_s, b.arrived_s) == (1.0, 1.5)


def test_a_delay_without_a_turn_before_it_is_no_time(parse):
    (request,) = parse("mooncake", {"delay": 5, "hash_ids": [1], "session_id": "s"}).requests
    assert request.arrived_s is None


@pytest.mark.parametrize(
    ("more", "tokens"),
    [({"block_size": 64}, 64), ({"block_tokens": [500, 500, 300]}, 500), ({"block_tokens": 8}, 8)],
)
def test_the_block_size_may_be_in_the_row(parse, more, tokens):
    (request,) = parse("mooncake", ROW | more).requests
    assert request.block_tokens == tokens


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"block_tokens": [500, 300, 500]}, "differ within the request"),
        ({"block_tokens": [500]}, "one whole number for each"),
        ({"block_size": 0}, "below 1"),
        ({"hash_ids": "none"}, "hash_ids"),
        ({"hash_ids": [1.5]}, "hash_ids"),
        ({"hash_ids": None}, "none of hash_ids"),
        ({"input_length": -1}, "input_length"),
        ({"timestamp": "noon"}, "timestamp"),
    ],
)
def test_a_row_that_cannot_be_understood_says_why(parse, more, reason):
    with pytest.raises(BadRecord, match=reason):
        parse("mooncake", ROW | more)


def test_ids_may_be_text_or_unsigned(parse):
    a, b = parse(
        "mooncake", ROW | {"hash_ids": ["x", "y", "x"]}, ROW | {"hash_ids": ["x"]}
    ).requests
    assert a.block_ids[0] == a.block_ids[2] == b.block_ids[0] != a.block_ids[1]
    (c,) = parse("mooncake", ROW | {"hash_ids": [2**64 - 1, 2**63 - 1]}).requests
    assert len(set(c.block_ids)) == 2


def test_rows_may_carry_the_prompt_instead(parse):
    text, chat = parse(
        "mooncake",
        {"text_input": "hello", "output_length": 3, "session_id": "s", "timestamp": 5},
        {"messages": [{"role": "user", "content": "hi"}], "output_length": 3},
    ).requests
    assert text.prompt == "hello"
    assert text.block_ids is None
    assert text.block_tokens is None
    assert chat.messages == [{"role": "user", "content": "hi"}]
