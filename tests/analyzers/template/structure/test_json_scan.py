"""The JSON scanner: places, what it tolerates, what it refuses."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvaudit.analyzers.reader import Unreadable
from kvaudit.analyzers.template.structure.json_scan import scan_json
from kvaudit.analyzers.template.structure.node import Kind, inner_span

values = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


def plain(node):
    if node.kind is Kind.MAP:
        return {key: plain(item) for key, item in node.pairs()}
    if node.kind is Kind.LIST:
        return [plain(item) for item in node.items]
    return node.value


def all_below(node):
    yield node
    for child in (*node.keys, *node.items):
        yield from all_below(child)


@given(values, st.booleans(), st.sampled_from([None, 1, 2]))
def test_it_reads_what_json_reads(value, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert plain(scan_json(text)) == value


@given(values, st.booleans())
def test_every_place_holds_its_value(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only)
    for node in all_below(scan_json(text)):
        assert json.loads(text[node.span.start : node.span.end]) == plain(node)


@given(st.text(max_size=30), st.data())
def test_a_part_of_a_string_is_found_through_its_escapes(text, data):
    source = json.dumps({"key": text})
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    node = scan_json(source).get("key")
    if start < end and not any("\ud800" <= c <= "\udfff" for c in text):
        span = inner_span(source, node, start, end)
        assert json.loads(f'"{source[span.start : span.end]}"') == text[start:end]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, // why\n "b": [2, /* no */ 3,],}', {"a": 1, "b": [2, 3]}),
        ('{"a": {{ messages }}, "b": "x"}', {"a": "{{ messages }}", "b": "x"}),
        ('{"a": "say {{ x | default("y") }} now"}', {"a": 'say {{ x | default("y") }} now'}),
        ('[{% for m in ms %}{"a": 1},{% endfor %} {"a": 2}]', [{"a": 1}, {"a": 2}]),
        ('{"a": 1, "a": 2}', {"a": 2}),
    ],
)
def test_what_people_write_around_json_is_tolerated(text, value):
    assert plain(scan_json(text)) == value


def test_the_last_of_two_equal_keys_counts():
    text = '{"a": 1, "b": 0, "a": 2}'
    span = scan_json(text).entry("a")
    assert text[span.start : span.end] == '"a": 2'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 10_000, "more than 200 levels"),
        ('{"a":' * 10_000, "more than 200 levels"),
        ('{"a" 1}', "a colon is missing in line 1"),
        ('{"a": 1\n, "b": oops}', "'oops' is no value in line 2"),
        ('{"a": "\\q"}', "escape"),
        ('{"a": "', "does not end"),
        ('{"a": 1} 2', "more after the end"),
        ("", "a value is missing"),
        ('"' + "x" * (5 << 20) + '"', "larger than 4 MiB"),
    ],
)
def test_what_is_no_json_is_refused_with_a_reason(text, reason):
    with pytest.raises(Unreadable, match=reason):
        scan_json(text)


@pytest.mark.parametrize(
    "text",
    ['["' + "{{ x }}" * 50_000, '["' + "{{" * 100_000, "[" + "/*" * 100_000, '["' + "\\" * 200_001],
)
def test_text_that_makes_patterns_explode_does_not(text):
    start = time.process_time()
    with pytest.raises(Unreadable):
        scan_json(text)
    assert time.process_time() - start < 5
