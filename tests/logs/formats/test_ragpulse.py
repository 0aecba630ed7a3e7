"""RAGPulse rows: content ids in categories, and the weight of a part."""

import pytest

from kvaudit.logs.format import BadRecord

ROW = {
    "timestamp": "82",
    "input_length": 3112,
    "output_length": 192,
    "hash_ids": {
        "sys_prompt": [8302, 14332, 15199],
        "passages_ids": [7398, 7370, 7098, 6967, 7405, 7298],
        "history": [15200],
        "web_search": [],
        "user_input": [26923],
    },
    "session_id": "s1",
}


def test_parts_are_in_the_order_of_the_prompt(parse):
    (request,) = parse("ragpulse", ROW).requests
    assert request.arrived_s == 82.0
    assert request.session == "s1"
    assert [number // 5 for number in request.block_ids] == [
        *ROW["hash_ids"]["sys_prompt"], *ROW["hash_ids"]["passages_ids"], 15200, 26923,
    ]  # fmt: skip
    assert request.output_tokens == 192


def test_equal_ids_of_two_categories_are_two_parts(parse):
    ids = {"sys_prompt": [7], "history": [7], "user_input": [7]}
    (request,) = parse("ragpulse", ROW | {"hash_ids": ids}).requests
    assert len(set(request.block_ids)) == 3


@pytest.mark.parametrize(
    ("input_length", "parts", "each"),
    [(3112, 11, 283), (5, 2, 3), (9000, 2, 512), (1, 4, 1)],
    ids=["rounded", "half up", "at most 512", "at least 1"],
)
def test_every_part_weighs_the_same(parse, input_length, parts, each):
    row = ROW | {"input_length": input_length, "hash_ids": {"passages_ids": list(range(parts))}}
    (request,) = parse("ragpulse", row).requests
    assert request.block_tokens == each
    assert request.prompt_tokens == each * parts


def test_a_request_without_parts_keeps_its_length(parse):
    (request,) = parse("ragpulse", ROW | {"hash_ids": {"sys_prompt": []}}).requests
    assert not request.has_prompt
    assert request.prompt_tokens == 3112


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"hash_ids": {"tools": [1]}}, "unknown category"),
        ({"hash_ids": {"sys_prompt": [2**62]}}, "60 bits"),
        ({"hash_ids": None}, "hash_ids is missing"),
        ({"input_length": None}, "input_length is missing"),
        ({"timestamp": "soon"}, "timestamp"),
    ],
)
def test_a_row_that_cannot_be_understood_says_why(parse, more, reason):
    with pytest.raises(BadRecord, match=reason):
        parse("ragpulse", ROW | more)
