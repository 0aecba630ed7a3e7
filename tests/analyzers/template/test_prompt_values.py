"""Prompts under keys of configurations: found by the key's name, placed exactly."""

import json

import pytest

from kvaudit.analyzers.reader import Unreadable
from kvaudit.analyzers.run import reader_for
from kvaudit.core.sources import Source

RULES = "You answer questions about invoices. Quote the invoice number in every answer. " * 4


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("agent.yaml", f"name: x\nsystem_prompt: |-\n  It is {{{{ now }}}}.\n  {RULES}\n"),
        (
            "agent.yaml",
            f"agents:\n  - instructions: >-\n      It is {{{{ now }}}}.\n      {RULES}\n",
        ),
        (
            "agent.json",
            json.dumps({"agent": {"system_prompt": "It is {{ now }}.\n" + RULES}}, indent=1),
        ),
    ],
)
def test_a_clock_in_a_value_is_found_where_it_stands(read, name, text):
    (document,) = read(text, name)
    (hole,) = [s for s in document.segments if s.expression]
    assert text[hole.span.start : hole.span.end] == "{{ now }}"
    assert (hole.origin, hole.position.name) == ("clock", "SYSTEM")
    assert document.source.path == name


def test_a_file_of_prompts_may_call_them_anything(read):
    text = f"planner:\n  basic: |\n    Plan {{topic}} by {{rules}}.\n    {RULES}\nname: x\n"
    (document,) = read(text, "prompts.yaml")
    assert [s.expression for s in document.segments if s.expression] == ["{topic}", "{rules}"]
    assert document.name == "planner.basic"


@pytest.mark.parametrize(("key", "turns"), [("rank_stocks", False), ("agent_system", True)])
def test_turns_follow_a_system_text_and_not_any_prompt(read, key, turns):
    (document,) = read(f"{key}: |\n  {RULES}\n  {{{{ memory }}}}\n", "prompts.yaml")
    assert document.multi_turn is turns


def test_what_is_sent_for_a_task_is_the_users_message(read):
    (document,) = read(f"instance_template: |-\n  {{{{ task }}}}\n  {RULES}\n", "agent.yaml")
    assert {s.position.name for s in document.segments} == {"NEWEST"}


@pytest.mark.parametrize(
    "text",
    [
        f"on: push\njobs:\n  a:\n    steps:\n      - prompt: |\n            {RULES}\n",
        f"apiVersion: v1\ndata:\n  prompt: {RULES}\n",
        f"title: x\nbody: {RULES}\n",
        f"env: ${{{{ x }}}}\nprompt: {RULES}\n",
    ],
)
def test_other_files_are_left_alone(text):
    assert reader_for(Source("file.yaml", text)) is None


@pytest.mark.parametrize("text", ["prompt: short\n", f"prompts:\n  prompt: [{RULES[:20]}]\n"])
def test_titles_and_lists_are_no_prompts(read, text):
    assert not read(text, "file.yaml")


def test_braces_of_another_engine_are_passed_over(read):
    assert not read(f"prompt: |\n  {RULES}\n  {{% nonsense {{{{\n", "file.yaml")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("prompts/tone.yaml", 'name: tone\ntext: "unclosed\nlist: [1, 2\n'),
        ("app/prompts/tone.json", '{"text": "You answer", "x": }'),
        ("review.prompt.yaml", "text: [\n"),
        ("agent.json", '{"system_prompt": "You answer", "x": }'),
    ],
)
def test_a_broken_file_that_should_hold_prompts_is_skipped_with_its_line(read, path, text):
    with pytest.raises(Unreadable, match=r"it is not (?:YAML|JSON): .* in line \d"):
        read(text, path)


def test_a_broken_file_elsewhere_is_no_prompt(read):
    assert reader_for(Source("settings/tone.yaml", 'text: "unclosed\n')) is None


@pytest.mark.parametrize(
    "name", ["messages/my.json", "src/locales/my/chat.yaml", "i18n/en-US.json"]
)
def test_what_a_page_says_in_one_language_is_no_prompt(read, name):
    text = json.dumps({"starters": {"write": {"prompt": RULES}}})
    assert read(text, name) is None
    assert read(text, name.replace("my", "chat").replace("locales", "a").replace("i18n", "a"))
