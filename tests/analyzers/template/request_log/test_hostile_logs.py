"""Logs that are broken, huge, or made to be slow end in bounded time, with a reason if refused."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvaudit.analyzers.reader import Sniffed, Unreadable
from kvaudit.analyzers.template.messages.read import read_messages
from kvaudit.analyzers.template.request_log import READER
from kvaudit.analyzers.template.request_log.documents import read_log
from kvaudit.analyzers.template.request_log.texts import changes
from kvaudit.core.sources import Source

KEYS = st.sampled_from(
    [
        "role",
        "content",
        "messages",
        "system",
        "tools",
        "name",
        "function",
        "arguments",
        "input",
        "tool_calls",
        "type",
        "text",
        "usage",
        "model",
        "cache_control",
        "parts",
        "contents",
        "prompt_cache_key",
        "metadata",
        "session_id",
        "timestamp",
        "response",
        "image_url",
        "url",
        "source",
        "data",
        "thinking",
        "parameters",
        "kwargs",
        "body",
        "reasoning_content",
    ]
)
WORDS = st.sampled_from(
    ["system", "user", "assistant", "tool", "text", "a 9:01", "a 9:02", "{{ x }}", ""]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)
ROWS = st.lists(st.dictionaries(KEYS, VALUES, max_size=6), min_size=1, max_size=5)


class NoProject:
    """A project of one file."""

    def __init__(self):
        self.variables = {}

    def sibling(self, source, name):
        return None

    def module(self, source, dotted):
        return None


@settings(max_examples=80)
@given(ROWS)
def test_no_shape_of_rows_is_too_odd(rows):
    text = "\n".join(map(json.dumps, rows))
    for document in read_log(Source("a.jsonl", text), NoProject()):
        for part in (*document.segments, *document.observations, *document.markers):
            assert 0 <= part.span.start <= part.span.end <= len(text)


@settings(max_examples=80)
@given(VALUES)
def test_no_shape_of_a_body_is_too_odd(value):
    text = json.dumps(value)
    for document in read_messages(Source("a.json", text), NoProject()):
        for part in (*document.segments, *document.observations, *document.markers):
            assert 0 <= part.span.start <= part.span.end <= len(text)


def seconds(text):
    start = time.process_time()
    read_log(Source("a.jsonl", text), NoProject())
    return time.process_time() - start


def test_a_large_log_takes_time_in_proportion():
    turns = [{"role": "user", "content": f"{n} " + "word " * 400} for n in range(40)]
    rows = [json.dumps({"messages": turns[: n % 40 + 1]}) for n in range(400)]
    text = "\n".join(rows)
    assert len(text) > 10 << 20
    assert seconds(text) < 6


def test_many_sessions_at_once_stay_cheap():
    rows = [
        json.dumps({"messages": [{"role": "user", "content": f"question {n} of {n % 7}"}]})
        for n in range(3_000)
    ]
    assert seconds("\n".join(rows)) < 8


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("http://" * 20_000, "http://" * 20_000 + "x"),
        ("1" * 200_000, "2" * 200_000),
        ("a b " * 50_000, "b a " * 50_000),
        ("\n".join(map(str, range(20_000))), "\n".join(map(str, range(5, 20_005)))),
        ("-".join(["12"] * 60_000), "-".join(["13"] * 60_000)),
    ],
)
def test_texts_that_make_comparing_slow_are_cut_short(old, new):
    start = time.process_time()
    changes(old, new)
    assert time.process_time() - start < 3


def test_lines_that_are_no_json_are_passed_over():
    good = [json.dumps({"messages": [{"role": "user", "content": str(n)}]}) for n in range(9)]
    assert read_log(Source("a.jsonl", "\n".join([*good, "{broken"])), NoProject())
    with pytest.raises(Unreadable, match="no JSON objects"):
        read_log(Source("a.jsonl", "\n".join([good[0], "{x", "[1]", "2"])), NoProject())


@pytest.mark.parametrize(
    "line",
    [
        '{"messages":' + "[" * 100_000,
        '{"messages": "\\ud800"}',
        '{"messages": [], "messages": 3}',
        "{}\0",
    ],
)
def test_odd_lines_do_no_harm(line):
    good = json.dumps({"messages": [{"role": "user", "content": "x"}]})
    read_log(Source("a.jsonl", "\n".join([good] * 9 + [line])), NoProject())


@pytest.mark.parametrize(
    ("name", "text", "sure"),
    [
        ("a.jsonl", '{"messages": []}\n{"messages": []}\n', Sniffed.CERTAIN),
        ("a.jsonl", '{"messages": []}\n', Sniffed.CERTAIN),
        ("a.json", '{"messages": []}\n', Sniffed.NO),
        ("a.json", '{\n"messages": []\n}\n', Sniffed.NO),
        ("a.jsonl", '{"level": "info", "text": "started"}\n', Sniffed.NO),
        ("a.jsonl", "", Sniffed.NO),
        ("a.txt", "You are a helper.\n", Sniffed.NO),
    ],
)
def test_a_log_is_told_by_its_lines(name, text, sure):
    assert READER.sniff(Source(name, text)) is sure
