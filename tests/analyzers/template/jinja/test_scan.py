"""Tags are found at their exact place, and what is found covers the source."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvaudit.analyzers.template.jinja.scan import Kind, ScanError, scan

FRAGMENTS = st.sampled_from(
    [
        *("{{ x }}", "{{- x -}}", "{% if a %}", "{%- endif -%}", "{# c #}", "{#- c -#}"),
        *("{{ '}}' }}", "{{ {'a': {'b': 1}} }}", "{% raw %}{{ y }}{% endraw %}", " \n"),
        *("text ", "}}", "%}", "é\r\n", '{{ "\\"}}" }}', "{{ x[1:(2)] }}", "{", "}", "\0"),
    ]
)


def cut(text):
    return [(t.kind.value, text[t.inner.start : t.inner.end]) for t in scan(text)]


@given(st.lists(FRAGMENTS, max_size=12).map("".join))
def test_tokens_cover_the_source_without_a_gap(text):
    try:
        tokens = scan(text)
    except ScanError:
        return
    assert "".join(text[t.span.start : t.span.end] for t in tokens) == text
    assert all(t.span.start <= t.inner.start <= t.inner.end <= t.span.end for t in tokens)


@given(st.lists(FRAGMENTS, max_size=8).map("".join))
def test_text_and_tags_are_those_of_jinja_itself(text):
    """Jinja's lexer gives the same literal text, tag by tag, after white-space control."""
    from jinja2 import Environment, TemplateSyntaxError

    environment = Environment(keep_trailing_newline=True)
    try:
        theirs = "".join(
            value for _, kind, value in environment.lex(text) if kind == "data" and value
        )
    except TemplateSyntaxError:
        return
    ours = "".join(text[slice(*t.inner)] for t in scan(text) if t.kind is Kind.TEXT)
    assert ours.replace("\r\n", "\n") == theirs


def test_white_space_marks_take_text_away():
    assert cut("a \n{%- if x -%}\n b") == [("text", "a"), ("tag", " if x "), ("text", "b")]


def test_end_marks_inside_strings_and_brackets_are_text():
    assert cut("{{ '}}' }}!") == [("output", " '}}' "), ("text", "!")]
    assert cut("{{ {'a':{'b':1}} }}") == [("output", " {'a':{'b':1}} ")]


@pytest.mark.parametrize("text", ["{{ x", "{% if", "{# c", "{% raw %}{{ x }}", "{{ 'a }}"])
def test_what_is_never_closed_is_an_error(text):
    with pytest.raises(ScanError):
        scan(text)


def test_a_million_quotes_end_in_time():
    with pytest.raises(ScanError):
        scan("{{ " + "'a" * 1_000_001)
