"""The sandbox says what printed what, and ends whatever a template tries."""

from datetime import datetime

import pytest
from jinja2 import TemplateSyntaxError

from kvaudit.analyzers.probe import sandbox
from kvaudit.analyzers.probe.sandbox import REFUSALS, TracedTemplate

NOW = datetime(2024, 7, 26)


def rendered(source, **variables):
    return TracedTemplate(source, NOW).render({"messages": [], **variables})


def test_every_piece_is_traced_to_its_tag():
    source = 'a{{ x }}\r\n{% for m in ms %}<{{ m }}>{{ "!" if not loop.last }}{% endfor %}\r\nend'
    trace = rendered(source, x="X", ms=["p", "q"])
    assert trace.text == "aX\n<p>!<q>end"
    shown = {trace.text[i]: source[trace.offset_of(i) :][:8] for i in range(len(trace.text))}
    assert shown["X"] == "{{ x }}\r"
    assert shown["p"] == shown["q"] == "{{ m }}>"
    assert shown["!"] == '{{ "!" i'
    assert shown["e"].startswith("end")


def test_it_renders_as_the_environment_of_transformers_does():
    from kvaudit.tokens.jinja_sandbox import compile_template

    source = (
        "{% for m in messages %}\n    {%- if m.role == 'user' %}\n<u>{{ m.content | trim }}\n"
        "{% generation %}g{% endgeneration %}{% continue %}{% endif %}\n{{ m | tojson }}"
        "{{ m.content ~ 1 }}{{ 1 + 2 }}{% endfor %}{{ strftime_now('%d %b') }}"
    )
    messages = [{"role": "user", "content": " ü "}, {"role": "assistant", "content": "b"}]
    theirs = compile_template(source, now=NOW)({"messages": messages})
    assert rendered(source, messages=messages).text == theirs


@pytest.mark.parametrize(
    "source",
    [
        "{% set ns=namespace(x='a'*1000) %}{% for i in range(60) %}"
        "{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
        "{% set ns=namespace(x=[1]) %}{% for i in range(60) %}"
        "{% set ns.x = ns.x + ns.x %}{% endfor %}",
        "{% set ns=namespace(x=1) %}{% for i in range(60) %}"
        "{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
        "{% set ns=namespace(x=1) %}{% for i in range(60) %}"
        "{% set ns.x = {'a': ns.x, 'b': ns.x} %}{% endfor %}{{ ns.x }}",
        "{{ 'a'.ljust(10**9) }}",
        "{{ 'a' * 10**9 }}",
        "{{ [1] * 10**9 }}",
        "{{ ('a\nb') | indent(10**9) }}",
        "{{ ('a'*10**6) | replace('a', 'b'*10**6) }}",
        "{{ ['a'*10**6, 'b'] | tojson(indent=10**9) }}",
        "{{ '{:999999999}'.format(1) }}",
        "{{ '%999999999d' % 1 }}",
        "{{ 9**9**9 }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{{ ().__class__.__mro__ }}",
        "{{ messages.append(1) }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ raise_exception('no') }}",
    ],
)
def test_what_a_template_may_not_do(source):
    with pytest.raises(REFUSALS):
        rendered(source)


def test_loops_that_read_nothing_end(monkeypatch):
    monkeypatch.setattr(sandbox, "MAX_SECONDS", 0.05)
    numbers = "{% set n = range(9999) | list %}"
    loop = numbers + "{% for a in n %}{% for b in n %}{% endfor %}{% endfor %}"
    with pytest.raises(REFUSALS, match="longer"):
        rendered(loop)


def test_filters_that_chat_templates_do_not_use_are_not_there():
    with pytest.raises(TemplateSyntaxError, match="center"):
        rendered("{{ 'a' | center(10) }}")
