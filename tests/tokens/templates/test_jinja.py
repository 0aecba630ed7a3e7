"""Jinja templates: the helpers they expect, the form of messages they get, and limits."""

import json
from datetime import datetime

import pytest

from kvaudit.core.errors import UsageError
from kvaudit.core.requests import Request
from kvaudit.tokens import jinja_sandbox
from kvaudit.tokens.encode import PromptEncoder
from kvaudit.tokens.pieces import Special, TemplateRefused
from kvaudit.tokens.templates.files import TemplateFiles
from kvaudit.tokens.templates.jinja import JinjaTemplate
from kvaudit.tokens.templates.template import load_template
from kvaudit.tokens.tokenizer import load_tokenizer

from .rendering import WEATHER, call, message, rendered

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CHAT = [message("system", "Be <|im_end|> terse."), message("user", "Hi")]


def jinja(source, **files):
    return JinjaTemplate("test.jinja", TemplateFiles({"default": source}, **files))


def test_ids_are_those_of_the_built_in_chatml():
    tokenizer = load_tokenizer("o200k_base")
    request = Request(id="r", messages=CHAT)
    (ours,) = PromptEncoder(tokenizer, load_template("chatml")).encode([request])
    encoder = PromptEncoder(tokenizer, jinja(CHATML))
    for _ in range(2):
        assert encoder.encode([request])[0].tolist() == ours.tolist()


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ {'b': 'é<', 'a': 1} | tojson }}", '{"b": "é<", "a": 1}'),
        ("{{ [1] | tojson(indent=1) }}", "[\n 1\n]"),
        ("{% for x in [1, 2, 3] %}{% if x == 2 %}{% break %}{% endif %}{{ x }}{% endfor %}", "1"),
        ("{% generation %}{{ 'kept' }}{% endgeneration %}", "kept"),
        ("  {% if true %}\nx\n  {% endif %}\ny", "x\ny"),
        ("{{ strftime_now('%d %b %Y') }}", "26 Jul 2024"),
        ("{{ tools is none }}{{ documents is none }}", "TrueTrue"),
        ("{{ bos_token }}|{{ 5 % 3 }}{{ 2 * 3 }}{{ '-' * 3 }}", "<s>|26---"),
    ],
)
def test_helpers(source, text):
    assert rendered(jinja(source, named_tokens={"bos_token": "<s>"}), []) == text


def test_the_clock_stands_where_it_is_put_and_is_reported():
    files = TemplateFiles({"default": "{{ strftime_now('%Y') }}"})
    template = JinjaTemplate("t", files, now=datetime(2031, 1, 1))
    assert rendered(template, []) == "2031"
    assert template.clock_dependent
    assert not jinja(CHATML).clock_dependent
    notes = PromptEncoder(load_tokenizer("bytes"), template).notes()
    assert "template-clock" in [note.topic for note in notes]


def test_arguments_are_parsed_and_empty_calls_left_out():
    template = jinja(
        "{% for m in messages %}{{ m.content }}|{{ m.tool_calls is defined }}|"
        "{% for c in m.tool_calls or [] %}{{ c.function.arguments.city }}{% endfor %};{% endfor %}"
    )
    turns = [
        message("assistant", None, tool_calls=[call("weather", '{"city": "Rome"}')]),
        message("assistant", "x", tool_calls=[]),
    ]
    assert rendered(template, turns) == "|True|Rome;x|False|;"


def test_reasoning_has_all_its_names():
    template = jinja("{% for m in messages %}{{ m.reasoning_content }}{{ m.thinking }}{% endfor %}")
    assert rendered(template, [message("assistant", "", reasoning="r")]) == "rr"


PARTS = "{% for m in messages %}{% for p in m['content'] %}<{{ p.text }}>{% endfor %}{% endfor %}"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (CHATML, "<|im_start|>user\na\nb[cat]<|im_end|>\n<|im_start|>assistant\n"),
        (PARTS, "<a><b><[cat]>"),
        (
            "{% for m in messages %}{% set c = m.content %}{% for p in c | list %}"
            "{{ p.type }}{% endfor %}{% endfor %}",
            "texttexttext",
        ),
    ],
)
def test_content_comes_in_the_form_that_the_template_takes(source, text):
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "image"}]
    assert rendered(jinja(source), [message("user", parts)], media_hashes=["cat"]) == text


def test_one_string_is_one_part():
    assert rendered(jinja(PARTS), [message("user", "a"), message("user", None)]) == "<a>"


def test_what_the_template_refuses_is_counted_not_raised():
    encoder = PromptEncoder(
        load_tokenizer("bytes"),
        jinja(
            "{% if messages|length > 1 %}{{ raise_exception('Roles must alternate') }}{% endif %}x"
        ),
    )
    good, bad = (Request(id=str(n), messages=CHAT[:n]) for n in (1, 2))
    assert list(map(len, encoder.encode([good, bad]))) == [1, 0]
    assert encoder.refused == {"Roles must alternate": 1}
    assert ("template-refused", 1) in [(note.topic, note.count) for note in encoder.notes()]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{{ messages.append(1) }}", "unsafe"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ 'x' * 10000000000 }}", r"operator \* could"),
        ("{{ '%1000000000d' % 1 }}", "operator % could"),
        ("{{ 9 ** 99999999 }}", r"operator \*\* could"),
        ("{{ none + 'x' }}", "unsupported operand"),
        ("{{ messages[0].content.nothing.more }}", "has no attribute 'nothing'"),
    ],
)
def test_the_sandbox_refuses(source, reason):
    with pytest.raises(TemplateRefused, match=reason):
        rendered(jinja(source), CHAT)


def test_output_is_limited(monkeypatch):
    monkeypatch.setattr(jinja_sandbox, "MAX_CHARS", 1000)
    with pytest.raises(TemplateRefused, match="more than 1000 characters"):
        rendered(jinja("{% for i in range(9999) %}abc{% endfor %}"), [])


@pytest.mark.parametrize("step", ["loop.index", "messages[i % 2]", "dict()"])
def test_time_is_limited(monkeypatch, step):
    monkeypatch.setattr(jinja_sandbox, "MAX_SECONDS", 0.05)
    loops = "{% set r = range(9999) %}{% for i in r %}{% for j in r %}{% set k = STEP %}"
    source = loops.replace("STEP", step) + "{% endfor %}{% endfor %}"
    with pytest.raises(TemplateRefused, match=r"longer than 0\.05 seconds"):
        rendered(jinja(source), CHAT)


def test_a_syntax_error_names_its_line(tmp_path):
    file = tmp_path / "broken.jinja"
    file.write_text("fine\n{% if %}")
    with pytest.raises(UsageError, match=r"broken\.jinja.*line 2"):
        load_template(str(file))


def test_a_file_alone_asks_for_the_first_token():
    assert jinja("{{ bos_token }}x").adds_bos
    assert not jinja(CHATML).adds_bos
    llama = load_tokenizer("llama3")
    (ids,) = PromptEncoder(llama, jinja("{{ bos_token }}x")).encode([Request(id="r", messages=[])])
    assert ids[0] == llama.bos_id


class TestModelFolder:
    def folder(self, tmp_path, files):
        for name, content in files.items():
            file = tmp_path / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(content if isinstance(content, str) else json.dumps(content))
        return load_template(str(tmp_path))

    def test_template_and_tokens_of_the_configuration(self, tmp_path):
        config = {
            "chat_template": "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}",
            "bos_token": {"content": "<s>"},
            "eos_token": "</s>",
            "pad_token": None,
            "added_tokens_decoder": {"3": {"content": "<tool>"}},
        }
        template = self.folder(tmp_path, {"tokenizer_config.json": config})
        assert rendered(template, CHAT[1:]) == "<s>Hi</s>"
        assert template.end_of_turn == Special("</s>")
        assert template.control_tokens == {"<s>", "</s>", "<tool>"}
        assert not template.adds_bos
        assert template.name == tmp_path.name

    def test_named_templates_by_whether_there_are_tools(self, tmp_path):
        named = [
            {"name": "default", "template": "plain"},
            {"name": "tool_use", "template": "{{ tools | length }} tools"},
        ]
        template = self.folder(tmp_path, {"tokenizer_config.json": {"chat_template": named}})
        assert rendered(template, CHAT) == "plain"
        assert rendered(template, CHAT, tools=[WEATHER]) == "1 tools"

    def test_files_of_their_own_go_first(self, tmp_path):
        files = {
            "tokenizer_config.json": {"chat_template": "old"},
            "chat_template.json": {"chat_template": "newer"},
            "chat_template.jinja": "newest",
            "additional_chat_templates/tool_use.jinja": "tools",
        }
        template = self.folder(tmp_path, files)
        assert rendered(template, CHAT) == "newest"
        assert rendered(template, CHAT, tools=[WEATHER]) == "tools"

    def test_tokens_of_the_special_tokens_map(self, tmp_path):
        files = {
            "chat_template.jinja": "{{ eos_token }}",
            "special_tokens_map.json": {"eos_token": "<e>"},
        }
        assert rendered(self.folder(tmp_path, files), CHAT) == "<e>"

    @pytest.mark.parametrize(
        ("files", "message"),
        [
            ({}, "holds no chat template"),
            ({"tokenizer_config.json": "{"}, "is not JSON"),
            ({"tokenizer_config.json": "[]"}, "holds no chat template"),
            ({"tokenizer_config.json": {"chat_template": 7}}, "holds no chat template"),
        ],
    )
    def test_folders_without_one(self, tmp_path, files, message):
        with pytest.raises(UsageError, match=message):
            self.folder(tmp_path, files)

    def test_a_file_that_is_no_text(self, tmp_path):
        file = tmp_path / "x.jinja"
        file.write_bytes(b"\xff\xfe\x00")
        with pytest.raises(UsageError, match="cannot be read"):
            load_template(str(file))
