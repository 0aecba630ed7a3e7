"""Jinja prompts: rendered order, and what each expression is known to be."""

import pytest

from kvaudit.analyzers.reader import Unreadable
from kvaudit.analyzers.template.promptlike import looks_like_prompt
from kvaudit.core.document import Evidence
from kvaudit.core.sources import Source


@pytest.mark.parametrize(
    ("expression", "origin"),
    [
        ("now()", "clock"),
        ("datetime.now().isoformat()", "clock"),
        ("strftime_now('%d %b %Y')", "date"),
        ("strftime_now('%H:%M')", "clock"),
        ("now().strftime('%Y-%m-%d')", "date"),
        ("now()|strftime('%Y-%m-%d')", "date"),
        ("date.today()", "date"),
        ("uuid4()", "random"),
        ("examples|random", "random"),
        ("tools|map(attribute='name')", "object-repr"),
        ("tools|map(attribute='name')|join(', ')", "unknown"),
        ("user.plan", "identity"),
        ("session.id", "session"),
        ("get_weather(city)", "live-state"),
        ("question|trim", "user-input"),
        ("'a' if x else now()", "clock"),
        ("loop.index", "constant"),
        ("colour", "unknown"),
    ],
)
def test_an_expression_is_known_by_where_it_comes_from(parts, expression, origin):
    assert parts("You are here. {{ " + expression + " }}")[-1][:2] == (expression, origin)


def test_names_are_weaker_evidence_than_calls(read):
    (document,) = read("You are here. {{ now }}{{ now() }}")
    assert [s.evidence for s in document.segments[1:]] == [Evidence.NAME, Evidence.DATAFLOW]


def test_what_the_user_says_of_a_name_holds(parts):
    from kvaudit.core.document import Origin

    said = {"tier": Origin.IDENTITY}
    assert parts("You are {{ tier }}", variables=said)[-1][1] == "identity"


def test_set_hands_a_value_on_with_its_trail(read):
    (document,) = read("{% set at = now() %}You are here. {{ at }}")
    last = document.segments[-1]
    assert last.origin == "clock"
    assert [step.label for step in last.trail] == ["gives at its value"]


def test_loop_names_are_what_is_gone_through(parts):
    text = "You are x.{% for d in documents %}<{{ d.title }}>{% endfor %}"
    assert ("d.title", "retrieved", "SYSTEM") in parts(text)


def test_a_loop_over_history_is_history(parts):
    text = "You are x.{% for m in messages %}{{ m.content }}{% endfor %}End."
    assert parts(text)[1:] == [
        ("m.content", "history", "HISTORY"),
        ("End.", "constant", "SYSTEM"),
    ]


def test_the_shorter_arm_of_a_branch_counts_nothing(read):
    (document,) = read("{% if a %}You are short{% else %}You are much longer{% endif %}")
    assert [s.tokens for s in document.segments] == [None, 0]


def test_an_arm_does_not_stand_before_another(read):
    (document,) = read("{% if a %}At {{ now() }}{% else %}You are much longer{% endif %}. End")
    shown = [s.text or s.expression for s in document.segments]
    assert shown == ["You are much longer", "At ", "now()", ". End"]
    (document,) = read(
        "{% if a %}{% chat role='user' %}{{ q }}{% endchat %}{% else %}{% chat role='system' %}"
        "You are much longer{% endchat %}{% endif %}"
    )
    assert [s.text or s.expression for s in document.segments] == ["q", "You are much longer"]


def test_includes_parents_and_macros_are_followed(parts):
    files = {
        "base.j2": "Head.{% block body %}base{% endblock %}Tail.",
        "part.j2": "Part {{ now() }}.",
        "macros.j2": "{% macro shout(x) %}!{{ x }}!{% endmacro %}",
    }
    text = (
        "{% extends 'base.j2' %}{% from 'macros.j2' import shout %}"
        "{% block body %}{{ super() }}{% include 'part.j2' %}{{ shout(uuid4()) }}{% endblock %}"
    )
    assert [part[0] for part in parts(text, "system.j2", files)] == [
        *("Head.", "base", "Part ", "now()", ".", "!", "x", "!", "Tail.")
    ]


def test_spans_are_those_of_the_file_a_text_stands_in(read):
    files = {"part.j2": "At {{ now() }}."}
    (document,) = read("You are x. {% include 'part.j2' %}", "system.j2", files)
    clock = next(s for s in document.segments if s.expression)
    assert clock.source.path == "part.j2"
    assert clock.source.text[slice(*clock.span)] == "{{ now() }}"


def test_a_template_that_includes_itself_ends(parts):
    assert parts("You are x.{% include 'me.j2' %}", "me.j2", {"me.j2": "a{% include 'me.j2' %}"})


def test_includes_that_double_at_every_level_are_refused_or_end(read):
    files = {f"{n}.j2": f"x{{% include '{n + 1}.j2' %}}" * 12 for n in range(30)}
    with pytest.raises(Unreadable, match="pieces"):
        read("You are x.{% include '0.j2' %}", "system.j2", files)


def test_raw_blocks_and_comments(parts):
    assert parts("You are {# now() #}{% raw %}{{ now() }}{% endraw %}.") == [
        ("You are ", "constant", "SYSTEM"),
        ("{{ now() }}", "constant", "SYSTEM"),
        (".", "constant", "SYSTEM"),
    ]


def test_header_lines_split_messages(parts):
    text = (
        "system:\nYou are x.\n{% for m in chat_history %}\n{{ m.role }}:\n{{ m.content }}\n"
        "{% endfor %}\nuser:\n{{ question }}\n"
    )
    found = [(t, p) for t, _, p in parts(text, "chat.jinja2") if t.strip(" \n:")]
    assert found == [
        ("You are x.\n", "SYSTEM"),
        ("m.content", "HISTORY"),
        ("question", "NEWEST"),
    ]


def test_chat_tags_split_messages(parts):
    text = (
        '{% chat role="system" %}You are x.{% endchat %}'
        '{% chat role="user" %}{{ question }}{% endchat %}'
    )
    assert [p for _, _, p in parts(text)] == ["SYSTEM", "NEWEST"]


def test_a_completion_prompt_with_speaker_names_is_one_message(parts):
    assert {p for _, _, p in parts("You answer.\nUser:\n{{ question }}\nAssistant:\n")} == {
        "SYSTEM"
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("You are {{ x", "never closed"),
        ("You are {% endif %}", "closes nothing"),
        ("You are {% if x %}", "never closed"),
        ("You are " + "{% if x %}" * 10_000 + "{% endif %}" * 10_000, "nested"),
        ("You are " + " x" * (3 << 20), "4 MiB"),
    ],
)
def test_what_cannot_be_read_says_why(read, text, reason):
    with pytest.raises(Unreadable, match=reason):
        read(text)


def test_deep_brackets_end(read):
    assert read("You are {{ " + "(" * 5000 + "x" + ")" * 5000 + " }}")


def test_a_text_that_speaks_to_the_model_is_a_prompt_wherever_it_lies():
    text = "You answer questions about invoices. Quote the number.\n{{ invoice }}"
    assert looks_like_prompt(Source("mail/support.j2", text))
    assert not looks_like_prompt(Source("mail/notice.j2", "You have {{ n }} new invoices."))


def test_a_page_about_prompts_is_none():
    post = "Write prompts with care. <script>var rows = {{ site.data.rows | jsonify }};</script>"
    assert not looks_like_prompt(Source("_posts/prompts.md", post + "You are here. Answer."))


def test_a_page_is_no_prompt_whatever_it_says():
    talk = "You are an assistant. Your task: you answer the user's question. Do not write more."
    page = f"<!doctype html>\n<html><body>{talk} {{{{ question }}}}</body></html>"
    assert not looks_like_prompt(Source("session/export.tmpl", page))
    assert not looks_like_prompt(Source("session/export.tmpl", f"<!-- made -->\n{page}"))
    assert looks_like_prompt(Source("prompts/page.tmpl", page))
    assert looks_like_prompt(Source("session/page.tmpl", f"{talk} Write such a page:\n{page}"))
    report = "# {{ title }}\n<style>@page { size: A4 }</style>\nAnswer the following question."
    assert not looks_like_prompt(Source("templates/report.md.j2", report))


def test_pages_and_configuration_in_jinja_are_no_prompts(read):
    assert read("<!doctype html><p>{{ now() }}</p>", "index.html.j2") is None
    assert read("listen {{ port }};", "nginx.conf.j2") is None


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{{% if a{n} %}}{{% set a{n + 1} = now() %}}{{% endif %}}" for n in range(8000)),
        "".join(f"{{% set a{n + 1} = a{n} ~ now() %}}" for n in range(8000)),
        "{{ " + "a~" * 9000 + "b }}",
        "{{ " + "x." * 9000 + "y }}",
        "".join(
            f"{{% macro m{n}() %}}{{{{ m{n + 1}() }}}}{{{{ m{n + 1}() }}}}{{% endmacro %}}"
            for n in range(60)
        )
        + "{{ m0() }}",
    ],
)
def test_what_grows_with_its_square_ends_in_time(read, text):
    assert read("You are kind. " + text)


def test_of_a_concatenation_the_operand_that_changes_is_marked(read):
    text = "{{- 'You may use tools (~ + all).' ~ strftime_now('%H:%M') + '. ' ~ ('a' ~ [x + 1]) }}"
    (document,) = read(text, "prompts/system.jinja")
    (clock,) = [s for s in document.segments if s.origin == "clock"]
    assert text[slice(*clock.span)] == clock.expression == "strftime_now('%H:%M')"


def test_operands_inside_brackets_are_told_apart_too(read):
    text = "{{ ('It is ' ~ now()) ~ '.' }}"
    (document,) = read(text, "prompts/system.jinja")
    (clock,) = [s for s in document.segments if s.origin == "clock"]
    assert text[slice(*clock.span)] == "now()"
