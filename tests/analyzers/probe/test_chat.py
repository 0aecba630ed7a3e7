"""Which templates keep a conversation's beginning, and which part of one breaks it."""

import pytest

from kvaudit.analyzers.probe.chat import NotProbed, probe

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def kinds(source):
    return {seen.kind: source[seen.offset :][:20] for seen in probe(source, {})}


def test_a_plain_template_breaks_nothing():
    assert kinds(CHATML) == {}


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("<|im_end|>\n{% endf", "<|im_end|>{{ '\n' if not loop.last }}{% endf", "not-append-only"),
        ("{{ m.role }}\n", "{{ m.role }}{{ loop.revindex }}\n", "not-append-only"),
        (
            "<|im_start|>{{",
            "{% if tools and loop.last %}{{ tools | tojson }}{% endif %}<|im_start|>{{",
            "tools-follow-last-user",
        ),
        (
            "assistant\n{%",
            "assistant\n<think>\n\n</think>\n{%",
            "generation-prompt-not-repeated",
        ),
        (
            "{{ m.content }}",
            "{{ m.content.split('</think>')[-1] if m.role == 'assistant' else m.content }}",
            "reasoning-stripped",
        ),
        (
            "{% for m",
            "{% for m in messages if m.role == 'system' %}{{ m.content }}{% endfor %}{% for m",
            "system-hoisted",
        ),
        ("{% for m", "{{ reasoning_effort }}{% for m", "effort-at-head"),
    ],
)
def test_each_break_is_told_from_the_others(old, new, kind):
    assert old in CHATML
    assert list(kinds(CHATML.replace(old, new, 1))) == [kind]


def test_a_last_newline_that_the_model_writes_itself_is_no_break():
    assert kinds(CHATML.replace("assistant\n{%", "assistant\n\n\n{%")) == {}


def test_reasoning_of_several_steps_that_goes_at_once_is_graver():
    source = (
        "{% set last = namespace(at=0) %}"
        "{% for m in messages %}{% if m.role == 'user' %}{% set last.at = loop.index0 %}{% endif %}"
        "{% endfor %}{% for m in messages %}<{{ m.role }}>"
        "{% if m.reasoning_content and loop.index0 > last.at %}{{ m.reasoning_content }}{% endif %}"
        "{{ m.content }}{{ m.tool_calls | tojson if m.tool_calls }}{% endfor %}"
    )
    (seen,) = probe(source, {})
    assert seen.kind == "reasoning-stripped"
    assert seen.graver
    head = "{% if add_generation_prompt %}<assistant><think>\n\n</think>\n\n{% endif %}"
    never = {found.kind: found.graver for found in probe(source + head, {})}
    assert never["reasoning-stripped"] is False, "a model that never thinks loses nothing"
    asked = head.replace("<think>", "{% if enable_thinking is not defined %}<think>{% endif %}")
    assert {f.kind: f.graver for f in probe(source + asked, {})}["reasoning-stripped"]


def test_text_behind_a_finished_conversation_only_is_no_break():
    end = "{% if not add_generation_prompt %}</s>{% endif %}"
    assert kinds(CHATML + end) == {}


def test_content_in_parts_and_tools_that_are_expected_are_found_out():
    parts = CHATML.replace("{{ m.content }}", "{% for p in m.content %}{{ p.text }}{% endfor %}")
    assert kinds(parts) == {}
    assert kinds("{{ tools[0] | tojson }}" + CHATML) == {}


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{{ raise_exception('needs a plan') }}", "needs a plan"),
        ("{{ functions[0].name }}" + CHATML, "functions"),
        ("always the same", "does not print"),
        ("{% if %}", "Expected an expression"),
        ("{{ x }}" * 100_000, "characters"),
        ("{% if a %}" * 500 + "{% endif %}" * 500, "nested|depth|blocks"),
    ],
)
def test_what_cannot_be_rendered_says_why(source, reason):
    with pytest.raises(NotProbed, match=reason):
        probe(source, {})
