"""Damaged records: every format gives requests or a reason, and never anything else."""

import contextlib
import copy
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvaudit.core.requests import Request
from kvaudit.logs.format import BadRecord, Sureness
from kvaudit.logs.registry import find_format

ROWS = {
    path.stem: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for path in sorted(Path(__file__).with_name("rows").glob("*.jsonl"))
}

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**63, 2**64, -(2**63), 10**400, -1, 0])
    | st.floats()
    | st.text(max_size=5)
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
