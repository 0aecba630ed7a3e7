"""Damaged records: every format gives requests or a reason, and never anything else."""

import contextlib
import copy
import json
from array import array
from datetime import date, datetime, time, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvaudit.core.errors import InputError
from kvaudit.core.requests import Request
from kvaudit.logs.format import BadRecord, Sureness
from kvaudit.logs.read import LogReader
from kvaudit.logs.registry import find_format

ROWS = {
    path.stem: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for path in sorted(Path(__file__).with_name("rows").glob("*.jsonl"))
}

# What a Parquet file may hold beside the values of JSON.
PARQUET_VALUES = [b"\xff", b"[1]", date(2026, 1, 1), datetime(2026, 1, 1), time(1), timedelta(1)]
PARQUET_VALUES += [array("i", [1]), array("q"), {"key": b"x"}]

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**63, 2**64, -(2**63), 10**400, -1, 0])
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(PARQUET_VALUES)
    | st.sampled_from(["null", "{", "[1]", "1e999", "\ud800", "2026-01-01T00:00:00Z", "nan"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


def places(value, path=()):
    """Yield the path to every value inside a record."""
    children = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, child in children:
        yield (*path, key)
        yield from places(child, (*path, key))


def put(row, path, value):
    *way, last = path
    for key in way:
        row = row[key]
    row[last] = value


@pytest.mark.parametrize("name", ROWS)
@settings(max_examples=60)
@given(data=st.data())
def test_a_damaged_record_is_a_request_or_a_reason(name, data):
    log_format = find_format(name)
    parser = log_format.parser()
    for original in ROWS[name]:
        row = copy.deepcopy(original)
        paths = list(places(row))
        put(row, data.draw(st.sampled_from(paths)), data.draw(anything))
        assert log_format.recognise(row) in Sureness
        found = []
        with contextlib.suppress(BadRecord):
            found = list(parser.parse(row))
        assert all(isinstance(request, Request) for request in found)
    assert all(isinstance(request, Request) for request in parser.finish())


@pytest.mark.parametrize("name", ROWS)
def test_a_value_nested_by_the_hundred_ends_in_no_traceback(name, tmp_path):
    deep = "[" * 900 + "]" * 900
    lines = []
    for row in ROWS[name]:
        lines += [json.dumps(row | {key: "@@"}).replace('"@@"', deep) for key in row]
    path = tmp_path / "deep.jsonl"
    path.write_text("\n".join([*lines, ""]))
    with contextlib.suppress(InputError):
        list(LogReader([path], input_format=name, max_broken_share=1))
    with contextlib.suppress(InputError):
        list(LogReader([path], max_broken_share=1))
