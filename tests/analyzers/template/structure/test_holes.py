"""Holes of templates: what is printed, what is not, and how they are written."""

import pytest

from kvaudit.analyzers.template.structure.holes import FORMAT, MUSTACHE, pieces, syntax_of, value_of


@pytest.mark.parametrize(
    ("text", "syntax", "holes"),
    [
        ("a {{ b }} c {{{d}}}", MUSTACHE, ["{{ b }}", "{{{d}}}"]),
        ("{% if a %}{{ b }}{% endif %}{# {{ c }} #}", MUSTACHE, ["{{ b }}"]),
        ("{{#each a}}{{this}}{{/each}}{{else}}", MUSTACHE, ["{{this}}"]),
        ('{{"a": 1}} {{ "b": 2 }}', MUSTACHE, []),
        ("{a} {{b}} {c!r} {d:.2f} { e }", FORMAT, ["{a}", "{c!r}", "{d:.2f}"]),
    ],
)
def test_only_what_is_printed_is_a_hole(text, syntax, holes):
    assert [p.expression for p in pieces(text, syntax) if p.expression] == holes


@pytest.mark.parametrize(
    ("text", "named", "syntax"),
    [
        ("{{ a }} {b}", True, MUSTACHE),
        ('{{"a": {b}}}', False, FORMAT),
        ("say {b}", True, FORMAT),
        ("say {b}", False, MUSTACHE),
    ],
)
def test_single_braces_are_holes_where_something_says_so(text, named, syntax):
    assert syntax_of(text, named=named) is syntax


@pytest.mark.parametrize(
    ("expression", "origin"),
    [
        ("{{ now }}", "clock"),
        ("{{ now() }}", "clock"),
        ("{{ question | trim }}", "user-input"),
        ("{{ user.name }}", "identity"),
        ("{{ 'text' }}", "constant"),
        ("{{ }}", "unknown"),
    ],
)
def test_a_hole_is_told_by_its_name(expression, origin):
    assert value_of(expression, {}).origin == origin
