"""What the built-in templates write.

Beside these, llama3 and qwen were compared with the published templates of Llama 3.1 and
Qwen3, rendered by transformers, on 400 random chats with tools and reasoning.
"""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvaudit.core.errors import UsageError
from kvaudit.logs.api.media import find_media
from kvaudit.tokens.pieces import Special, TemplateRefused
from kvaudit.tokens.templates.template import load_template, template_names

from .rendering import WEATHER, call, message, rendered

CHATML, LLAMA3, QWEN, PLAIN = map(load_template, ("chatml", "llama3", "qwen", "plain"))
CHAT = [message("system", "Be terse."), message("user", " Hi\n")]


def test_built_in_templates_are_found_by_folder():
    assert template_names() == ["blocks", "chatml", "llama3", "plain", "qwen", "system_first"]


def test_an_unknown_template_gets_the_nearest():
    with pytest.raises(UsageError, match=r"'lama3' is neither built in .* did you mean llama3"):
        load_template("lama3")


class TestChatML:
    def test_chat(self):
        assert rendered(CHATML, CHAT) == (
            "<|im_start|>system\nBe terse.<|im_end|>\n<|im_start|>user\n Hi\n<|im_end|>\n"
            "<|im_start|>assistant\n"
        )

    def test_tools_stand_in_the_system_message(self):
        assert rendered(CHATML, CHAT, tools=[WEATHER]).startswith(
            '<|im_start|>system\nBe terse.\n\n# Tools\n\n{"type": "function", '
            '"function": {"name": "weather", "description": "Wetter für 城市"}}<|im_end|>\n'
        )

    def test_tools_without_a_system_message_make_one(self):
        text = rendered(CHATML, CHAT[1:], tools=[{"name": "a"}, {"name": "b"}])
        assert text.startswith(
            '<|im_start|>system\n# Tools\n\n{"name": "a"}\n{"name": "b"}<|im_end|>\n'
        )

    def test_tool_calls_follow_the_text(self):
        calls = [call("weather", '{"city": "Rome"}')]
        text = rendered(CHATML, [message("assistant", "Let me see.", tool_calls=calls)])
        assert f"assistant\nLet me see.\n{json.dumps(calls[0])}<|im_end|>" in text
        text = rendered(CHATML, [message("assistant", None, tool_calls=calls)])
        assert f"assistant\n{json.dumps(calls[0])}<|im_end|>" in text

    def test_nothing_at_all_is_the_head_of_an_answer(self):
        assert rendered(CHATML, []) == "<|im_start|>assistant\n"


media = st.one_of(
    st.sampled_from(
        [
            *("image", "document", "audio", "video", "blob", "uri", "media", "image_url", "file"),
            *("input_audio", "video_url", "audio_url", "input_image", "input_file"),
        ]
    ).map(lambda kind: {"type": kind}),
    st.sampled_from(["image", "document", "video", "audio"]).map(
        lambda key: {key: {"source": {"bytes": "AA=="}}}
    ),
    st.sampled_from(["inlineData", "inline_data", "fileData", "file_data"]).map(
        lambda key: {key: {"data": "AA=="}}
    ),
)
others = st.sampled_from(
    [
        "bare",
        {"type": "text", "text": "typed"},
        {"text": "untyped"},
        {"type": "tool_use", "input": {"type": "image"}},
        {"image": "a word"},
        {"type": "summary", "image": {"source": 1}},
    ]
)
parts = st.recursive(
    st.one_of(media, others),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(
            lambda content: {"type": "tool_result", "content": content}
        ),
        st.lists(inner, max_size=3).map(lambda content: {"toolResult": {"content": content}}),
        inner.map(lambda output: {"type": "call_output", "output": output}),
    ),
    max_leaves=5,
)


class TestContent:
    """Content in the shapes of the APIs, which all templates share."""

    @pytest.mark.parametrize(
        ("content", "text"),
        [
            (None, ""),
            ([], ""),
            ([{"type": "text", "text": "a"}, {"type": "input_text", "text": "b"}], "a\nb"),
            ([{"type": "output_text", "text": "a"}, {"type": "refusal", "refusal": "no"}], "a\nno"),
            ([{"type": "thinking", "thinking": "hm"}], "hm"),
            ([{"type": "tool_result", "content": [{"type": "text", "text": "r"}]}], "r"),
            (
                [{"type": "tool_use", "name": "é", "input": {}}],
                '{"type": "tool_use", "name": "é", "input": {}}',
            ),
            ([{"text": "untyped"}, "bare"], "untyped\nbare"),
            ({"type": "text", "text": "one"}, "one"),
            (7, "7"),
            ([{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}], "a"),
        ],
    )
    def test_text(self, content, text):
        assert rendered(CHATML, [message("user", content)]).startswith(
            f"<|im_start|>user\n{text}<|im_end|>"
        )

    def test_media_take_their_hashes_in_order_and_then_none(self):
        content = [
            {"type": "image_url", "image_url": {"url": "data:..."}},
            {"type": "text", "text": "and"},
            {"type": "input_audio", "input_audio": {}},
            {"type": "tool_result", "content": [{"type": "image", "source": {}}]},
            {"type": "document"},
        ]
        text = rendered(CHATML, [message("user", content)], media_hashes=["one", "two", "three"])
        assert "user\n[one]and[two][three][unidentified]<|im_end|>" in text

    def test_media_inside_other_parts_follow_their_json(self):
        part = {"toolResult": {"content": [{"image": {"source": {"bytes": "..."}}}]}}
        text = rendered(CHATML, [message("user", [part])], media_hashes=["one"])
        assert 'user\n{"toolResult": {"content": [null]}}[one]<|im_end|>' in text

    @given(content=st.lists(parts, max_size=4))
    def test_media_are_found_where_the_readers_of_logs_find_them(self, content):
        messages = [message("user", content)]
        found = len(find_media(messages).get("media_hashes", ()))
        hashes = [f"hash-{number}" for number in range(found)]
        text = rendered(CHATML, messages, media_hashes=hashes)
        assert re.findall(r"\[(hash-\d+|unidentified)\]", text) == hashes

    def test_a_message_without_a_role_is_the_models_own(self):
        text = rendered(CHATML, [{"content": [{"type": "reasoning", "summary": "t"}]}])
        assert '<|im_start|>assistant\n{"type": "reasoning", "summary": "t"}<|im_end|>' in text


class TestLlama3:
    def test_white_space_around_content_goes(self):
        turns = [message("system", " s "), message("user", "\nu "), message("assistant", " a\n")]
        for tools in (None, [WEATHER]):
            text = rendered(LLAMA3, turns, tools=tools)
            assert "2024\n\ns<|eot_id|>" in text
            assert "\n\nu<|eot_id|>" in text
            assert "\n\na<|eot_id|>" in text

    def test_chat(self):
        assert rendered(LLAMA3, CHAT) == (
            "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n"
            "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\nBe terse.<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n"
        )

    def test_tools_stand_in_the_first_user_message(self):
        text = rendered(LLAMA3, CHAT, tools=[WEATHER])
        assert "system<|end_header_id|>\n\nEnvironment: ipython\nCutting" in text
        listed = json.dumps(WEATHER, ensure_ascii=False, indent=4)
        assert f"Do not use variables.\n\n{listed}\n\nHi<|eot_id|>" in text

    def test_tools_without_a_message_are_refused(self):
        with pytest.raises(TemplateRefused, match="tools without a message"):
            rendered(LLAMA3, CHAT[:1], tools=[WEATHER])

    def test_calls_and_results(self):
        turns = [
            message("assistant", "unseen", tool_calls=[call("weather", '{"city":"Köln"}')]),
            message("tool", "17 °C"),
        ]
        assert rendered(LLAMA3, [*CHAT, *turns]).endswith(
            "<|start_header_id|>assistant<|end_header_id|>\n\n"
            '{"name": "weather", "parameters": {"city": "Köln"}}<|eot_id|>'
            '<|start_header_id|>ipython<|end_header_id|>\n\n"17 °C"<|eot_id|>'
            "<|start_header_id|>assistant<|end_header_id|>\n\n"
        )


class TestQwen:
    def test_tools_call_and_results(self):
        turns = [
            message("assistant", "", tool_calls=[call("weather", '{"city":"Köln"}')] * 2),
            message("tool", "17 °C"),
            message("tool", "18 °C"),
        ]
        text = rendered(QWEN, [*CHAT, *turns], tools=[WEATHER])
        listed = json.dumps(WEATHER, ensure_ascii=False)
        assert text.startswith("<|im_start|>system\nBe terse.\n\n# Tools\n\nYou may call one")
        assert text.count("Be terse.") == 1
        assert f"<tools>\n{listed}\n</tools>" in text
        one = '<tool_call>\n{"name": "weather", "arguments": {"city": "Köln"}}\n</tool_call>'
        assert f"<|im_start|>assistant\n{one}\n{one}<|im_end|>\n<|im_start|>user\n" in text
        assert text.endswith(
            "<|im_start|>user\n<tool_response>\n17 °C\n</tool_response>"
            "\n<tool_response>\n18 °C\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
        )

    def test_reasoning_is_kept_since_the_last_question_only(self):
        thought = "<think>\nhm\n</think>\n\nyes"
        past = [message("assistant", thought), message("user", "and now?")]
        recent = [message("assistant", "done", reasoning_content="so\n"), message("tool", "r")]
        text = rendered(QWEN, [*CHAT, *past, *recent])
        assert "<|im_start|>assistant\nyes<|im_end|>" in text
        assert "<|im_start|>assistant\n<think>\nso\n</think>\n\ndone<|im_end|>" in text

    def test_no_system_message_is_made_up(self):
        assert rendered(QWEN, CHAT[1:]).startswith("<|im_start|>user\n Hi\n<|im_end|>")


class TestPlain:
    def test_roles_are_lines(self):
        assert rendered(PLAIN, CHAT) == "system: Be terse.\nuser:  Hi\n\nassistant:"

    def test_messages_without_roles_are_joined(self):
        assert rendered(PLAIN, [{"content": "a"}, {"content": "b\n"}]) == "ab\n"

    def test_tools_stand_in_front(self):
        assert rendered(PLAIN, CHAT, tools=[{"name": "t"}]).startswith('{"name": "t"}\nsystem:')


@pytest.mark.parametrize("template", [CHATML, LLAMA3, QWEN])
def test_templates_declare_the_control_tokens_they_write(template):
    from kvaudit.core.requests import Request

    turns = [*CHAT, message("assistant", "ok"), message("tool", "r")]
    pieces = template.render(Request(id="r", messages=turns, tools=[WEATHER]))
    for piece in pieces:
        if isinstance(piece, Special):
            starts = [token for token in template.control_tokens if piece.text.startswith(token)]
            ends = [token for token in template.control_tokens if piece.text.endswith(token)]
            assert starts
            assert ends
