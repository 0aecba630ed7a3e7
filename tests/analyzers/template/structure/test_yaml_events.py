"""YAML with places: scalars of every style, aliases, holes, and what is refused."""

import time

import pytest

from kvaudit.analyzers.reader import Unreadable
from kvaudit.analyzers.template.structure.node import Kind, inner_span
from kvaudit.analyzers.template.structure.yaml_events import scan_yaml

STYLES = """\
plain: now here
quoted: "say \\"now\\" here"
single: 'it''s now here'
literal: |
  först line
  now here

folded: >-
  some
  text now
  here
after: 1
"""


@pytest.mark.parametrize("key", ["plain", "quoted", "single", "literal", "folded"])
def test_a_word_is_found_in_every_style(key):
    (root,) = scan_yaml(STYLES)
    node = root.get(key)
    at = node.text.index("here")
    span = inner_span(STYLES, node, at, at + 4)
    assert STYLES[span.start : span.end] == "here"
    assert span.end <= node.span.end


def test_values_are_what_they_look_like():
    (root,) = scan_yaml("a: yes\nb: 1.5\nc: ~\nd: '1'\ne: {{ x }}\nf: [1, two]\n")
    kinds = [item.kind for item in root.items]
    assert kinds == [Kind.FLAG, Kind.NUMBER, Kind.NULL, Kind.TEXT, Kind.HOLE, Kind.LIST]


def test_an_entry_ends_with_its_value():
    text = "a:\n  - one\n  - two\n\n\nb: 1\n"
    (root,) = scan_yaml(text)
    span = root.entry("a")
    assert text[span.start : span.end] == "a:\n  - one\n  - two"


def test_documents_of_one_file_are_told_apart():
    assert [root.kind for root in scan_yaml("a: 1\n---\n- b\n")] == [Kind.MAP, Kind.LIST]


def test_a_tab_between_tokens_of_json_is_a_blank():
    (root,) = scan_yaml('{\n\t"a":\t1\n}')
    assert root.get("a").value == 1


def test_an_alias_shares_what_it_names():
    bomb = "a0: &a0 [x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 40)
    )
    start = time.process_time()
    (root,) = scan_yaml(bomb)
    assert root.get("a39").items[0] is root.get("a38")
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("- " * 10_000, "more than 200 levels"),
        ("[" * 10_000, "nest"),
        ("a: *b", "has no target"),
        ("a: &a [*a]", "has no target"),
        ("a: [1", "not YAML"),
        ("a\0b: 1", "not YAML"),
        ("x" * (5 << 20), "larger than 4 MiB"),
        ("- 1\n" * 500_000, "values"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(text, reason):
    with pytest.raises(Unreadable, match=reason):
        scan_yaml(text)
