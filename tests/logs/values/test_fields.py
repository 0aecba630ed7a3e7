"""Values of a record: what is taken, what is missing, and what is refused."""

import contextlib
from array import array

import pytest
from hypothesis import given

from kvaudit.logs.format import BadRecord
from kvaudit.logs.values import fields
from tests.logs.strategies import json_values

READERS = [
    fields.text,
    fields.integer,
    fields.signed,
    fields.number,
    fields.flag,
    fields.json_value,
    fields.json_object,
    fields.json_objects,
    fields.token_ids,
    fields.block_ids,
]


@pytest.mark.parametrize(
    ("read", "value", "result"),
    [
        (fields.text, "a", "a"),
        (fields.text, 7, "7"),
        (fields.integer, "12", 12),
        (fields.integer, 12.0, 12),
        (fields.integer, "12.0", 12),
        (fields.signed, "-3", -3),
        (fields.signed, str(2**64 - 1), 2**64 - 1),
        (fields.number, "0.5", 0.5),
        (fields.number, 2, 2.0),
        (fields.flag, "True", True),
        (fields.flag, "false", False),
        (fields.flag, 1, True),
        (fields.json_value, '{"a": [1]}', {"a": [1]}),
        (fields.json_value, [1], [1]),
        (fields.json_object, '{"a": 1}', {"a": 1}),
        (fields.json_objects, '[{"a": 1}]', [{"a": 1}]),
        (fields.token_ids, [1, 2], array("i", [1, 2])),
        (fields.token_ids, "[1, 2]", array("i", [1, 2])),
        (fields.token_ids, array("q", [1]), array("i", [1])),
        (fields.block_ids, [2**63 - 1, -1], array("q", [2**63 - 1, -1])),
        (fields.block_ids, [2**64 - 1, 1], array("q", [-1, 1])),
    ],
)
def test_taken(read, value, result):
    assert read(value, "field") == result


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("value", [None, ""])
def test_missing(read, value):
    assert read(value, "field") is None


@pytest.mark.parametrize("value", ["NaN", "null", float("nan"), "\\N"])
def test_words_for_a_missing_number(value):
    assert fields.number(value, "field") is fields.integer(value, "field") is None


@pytest.mark.parametrize(
    ("read", "value", "says"),
    [
        (fields.text, True, "is not a text"),
        (fields.text, ["a"], "is not a text"),
        (fields.integer, -1, "is negative"),
        (fields.integer, 1.5, "is not a whole number"),
        (fields.integer, True, "is not a number"),
        (fields.integer, "ten", "is not a number"),
        (fields.number, float("inf"), "is infinite"),
        (fields.number, 10**400, "is not a number"),
        (fields.flag, "maybe", "is neither true nor false"),
        (fields.json_value, "{", "holds no JSON"),
        (fields.json_object, "[1]", "is not an object"),
        (fields.json_objects, {"a": 1}, "is not a list"),
        (fields.json_objects, [{}, 1], "holds something that is not an object"),
        (fields.token_ids, [1.0], "holds something that is not an integer"),
        (fields.token_ids, ["1"], "holds something that is not an integer"),
        (fields.token_ids, [2**31], "holds an integer that is too large"),
        (fields.token_ids, 5, "is not a list of integers"),
        (fields.block_ids, [2**64], "holds an integer that is too large"),
        (fields.block_ids, [2**63, -1], "holds an integer that is too large"),
    ],
)
def test_refused(read, value, says):
    with pytest.raises(BadRecord, match=f"^field {says}"):
        read(value, "field")


@pytest.mark.parametrize("read", READERS)
@given(value=json_values)
def test_nothing_but_a_bad_record_is_raised(read, value):
    with contextlib.suppress(BadRecord):
        read(value, "field")
