"""Chat templates: files of their own, inside JSON, and those that must not be rendered."""

import json

import pytest

from kvaudit.analyzers.reader import Unreadable

HEAD = "{{ bos_token }}{{ strftime_now('%d %b') }}"
BODY = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ '\\n' if not loop.last }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def test_a_break_stands_at_the_tag_that_printed_it(read):
    (document,) = read(HEAD + BODY, "chat_template.jinja")
    (seen,) = document.observations
    assert seen.kind == "not-append-only"
    assert seen.source.text[slice(*seen.span)] == "{{ '\\n' if not loop.last }}"


def test_clocks_are_found_by_reading_and_names_say_nothing(read):
    (document,) = read(HEAD + "{{ now }}" + BODY, "chat_template.jinja")
    assert {s.origin for s in document.segments if s.expression} == {"date", "unknown", "constant"}


def test_a_date_that_a_template_falls_back_to_is_followed(read):
    text = (
        "{% if not date_string is defined %}{% if strftime_now is defined %}"
        "{% set date_string = strftime_now('%d %b %Y') %}{% else %}"
        "{% set date_string = '26 Jul 2024' %}{% endif %}{% endif %}{{ date_string }}"
    )
    (document,) = read(text + BODY, "chat_template.jinja")
    assert "date" in {s.origin for s in document.segments}


@pytest.mark.parametrize("name", ["tokenizer_config.json", "chat_template.json"])
def test_templates_inside_json_are_placed_in_the_file(read, name):
    template = "ü\U0001f600\t" + HEAD + BODY
    text = json.dumps({"bos_token": {"content": "<s>"}, "chat_template": template}, indent=1)
    (document,) = read(text, name)
    (seen,) = document.observations
    assert seen.source.text == text
    assert text[slice(*seen.span)] == "{{ '\\\\n' if not loop.last }}"


def test_lists_of_named_templates(read):
    templates = [
        {"name": "default", "template": BODY},
        {"name": "tool_use", "template": "{{ tools[0] | tojson }}" + BODY},
    ]
    text = json.dumps({"chat_template": templates})
    documents = read(text, "tokenizer_config.json")
    assert [d.name for d in documents] == ["default", "tool_use"]
    assert all(text[slice(*d.observations[0].span)].startswith("{{ '") for d in documents)


def test_another_convention_of_white_space_is_said_and_not_judged(read):
    text = (
        "{{ bos_token }}{% for m in messages %}\n    {% if m.role %}\n"
        "        {{ '<' + m.role + '>' + m.content }}\n    {% endif %}\n{% endfor %}\n"
        "{% if add_generation_prompt %}\n    {{ '<assistant>' }}\n{% endif %}\n"
    )
    with pytest.raises(Unreadable, match="indented"):
        read(text, "llama.jinja")


def test_what_breaks_in_any_convention_is_reported(read):
    text = (
        "{{ bos_token }}{% for m in messages %}\n    {{ loop.revindex ~ m.content }}\n{% endfor %}"
    )
    (document,) = read(text, "indented.jinja")
    assert [seen.kind for seen in document.observations] == ["not-append-only"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"chat_template": 1 "}', "JSON"),
        ('{"chat_template": [1]}', "neither"),
        (json.dumps({"chat_template": "{{ raise_exception('no') }}"}), "cannot be rendered: no"),
    ],
)
def test_what_cannot_be_read_says_why(read, text, reason):
    with pytest.raises(Unreadable, match=reason):
        read(text, "tokenizer_config.json")


def test_a_template_that_would_leave_a_mark_leaves_none(read, tmp_path):
    mark = tmp_path / "mark"
    attack = "{{ cycler.__init__.__globals__.os.system('touch " + str(mark) + "') }}"
    with pytest.raises(Unreadable):
        read(attack + HEAD + BODY, "chat_template.jinja")
    assert not mark.exists()
