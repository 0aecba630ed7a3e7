"""Request bodies of every API: order, positions, blocks, markers, and what is no prompt."""

import json

import pytest

from kvaudit.analyzers.reader import Sniffed, Unreadable
from kvaudit.analyzers.run import documents_of
from kvaudit.analyzers.template.messages import READER
from kvaudit.core.document import Origin, Position, Volatility
from kvaudit.core.sources import Source


class NoProject:
    """A project of one file."""

    def __init__(self, **said):
        self.variables = said

    def sibling(self, source, name):
        return None

    def module(self, source, dotted):
        return None


def read(text, name="body.json", **said):
    return READER.read(Source(name, text), NoProject(**said))


def only(value, name="body.json"):
    (document,) = read(value if isinstance(value, str) else json.dumps(value), name)
    return document


ANTHROPIC = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 10,
    "messages": [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": [{"type": "text", "text": "two"}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t", "content": "res"}],
        },
        {
            "role": "user",
            "content": [{"type": "text", "text": "three", "cache_control": {"ttl": "1h"}}],
        },
    ],
    "system": [{"type": "text", "text": "rules", "cache_control": {"type": "ephemeral"}}],
    "tools": [{"name": "find", "input_schema": {}}],
}
OPENAI = {
    "model": "gpt-5",
    "messages": [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"arguments": "{}"}}]},
        {"role": "tool", "content": "res"},
        {"role": "user", "content": "three"},
    ],
    "tools": [{"type": "function", "function": {"name": "find"}}],
}
BEDROCK = {
    "modelId": "anthropic.claude-sonnet-4-5-v1:0",
    "system": [{"text": "rules"}, {"cachePoint": {"type": "default"}}],
    "messages": [{"role": "user", "content": [{"text": "three"}, {"cachePoint": {"ttl": "1h"}}]}],
    "toolConfig": {"tools": [{"toolSpec": {"name": "find"}}]},
}
GEMINI = {
    "model": "gemini-2.5-pro",
    "systemInstruction": {"parts": [{"text": "rules"}]},
    "contents": [{"role": "user", "parts": [{"text": "three"}]}],
}
RESPONSES = {
    "model": "gpt-5",
    "instructions": "rules",
    "input": [{"role": "user", "content": "three"}],
}


@pytest.mark.parametrize(
    ("body", "provider"),
    [
        (ANTHROPIC, "anthropic"),
        (OPENAI, "openai"),
        (BEDROCK, "bedrock"),
        (GEMINI, "gemini"),
        (RESPONSES, "openai"),
    ],
)
def test_every_api_is_read_in_rendered_order(body, provider):
    document = only(body)
    assert document.provider == provider
    texts = [(s.position, s.text) for s in document.segments]
    assert (Position.SYSTEM, "rules") in texts
    assert (Position.NEWEST, "three") in texts
    positions = [position for position, _ in texts]
    assert positions == sorted(positions)
    assert all(document.source.text[s.span.start : s.span.end] == s.text for s in document.segments)


def test_markers_stand_on_their_blocks():
    document = only(ANTHROPIC)
    blocks = {s.text: s.block for s in document.segments}
    assert [(m.block, m.ttl) for m in document.markers] == [
        (blocks["rules"], None),
        (blocks["three"], "1h"),
    ]


def test_a_cache_point_marks_the_block_before_it():
    document = only(BEDROCK)
    blocks = {s.text: s.block for s in document.segments}
    assert [m.block for m in document.markers] == [blocks["rules"], blocks["three"]]


def test_the_mark_of_the_whole_request_stands_on_its_last_block():
    document = only({**ANTHROPIC, "cache_control": {"type": "ephemeral"}})
    assert document.markers[-1].block == max(s.block for s in document.segments)


def test_results_of_calls_are_no_new_turn():
    messages = ANTHROPIC["messages"][:3]
    positions = {s.text: s.position for s in only({**ANTHROPIC, "messages": messages}).segments}
    assert positions["one"] is Position.NEWEST


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"messages": [{"role": "system", "content": "It is {{ now }}."}]}'),
        ("a.yaml", "messages:\n  - role: system\n    content: |\n      It is {{ now }}.\n"),
        ("a.json", '{"messages": [{"role": "system", "content": "\\u00bfIt is {{ now }}?"}]}'),
    ],
)
def test_a_hole_is_an_expression_with_its_own_place(name, text):
    document = only(text, name)
    hole = next(s for s in document.segments if s.expression)
    assert text[hole.span.start : hole.span.end] == "{{ now }}"
    assert hole.origin is Origin.CLOCK


def test_what_the_user_said_of_a_name_counts():
    text = '{"messages": [{"role": "system", "content": "{{ plan_tier }}"}]}'
    (document,) = read(text, plan_tier=Origin.IDENTITY)
    assert document.segments[0].origin is Origin.IDENTITY


def test_a_hole_may_stand_for_the_history():
    text = '{"system": "S", "messages": [{{ history }}, {"role": "user", "content": "{{ q }}"}]}'
    assert [s.position for s in only(text).segments] == [
        Position.SYSTEM,
        Position.HISTORY,
        Position.NEWEST,
    ]


@pytest.mark.parametrize(
    ("question", "history"), [("three", Volatility.SESSION), ("{{ q }}", Volatility.CONSTANT)]
)
def test_the_history_of_a_recorded_body_is_its_sessions_own(question, history):
    messages = [*OPENAI["messages"][:-1], {"role": "user", "content": question}]
    segments = only({**OPENAI, "messages": messages}).segments
    assert {s.volatility for s in segments if s.position is Position.HISTORY} == {history}


def test_a_loop_over_turns_is_the_history():
    text = """[
      {"role": "system", "content": {{ system_message | dump }}},
      {% for turn in turns %}{"role": "{{ turn.role }}", "content": {{ turn.text | dump }}},
      {% endfor %}
      {"role": "user", "content": {{ question | dump }}}
    ]"""
    assert [s.position for s in only(text).segments] == [
        Position.SYSTEM,
        Position.HISTORY,
        Position.NEWEST,
    ]


def test_bodies_inside_of_other_values_are_found():
    text = json.dumps({"tests": [{"request": OPENAI}, {"request": GEMINI}]})
    assert [d.name for d in read(text)] == ["tests.0.request", "tests.1.request"]


NO_PROMPTS = [
    ("package.json", '{"name": "x", "scripts": {"test": "jest"}, "dependencies": {}}'),
    ("tsconfig.json", '{"compilerOptions": {"strict": true}, // why\n "include": ["src"]}'),
    ("en.json", '{"messages": {"hello": "Hello {{ name }}", "role": "Role"}}'),
    ("rbac.yaml", "kind: Role\nrules:\n- apiGroups: ['']\n  resources: [pods]\n"),
    ("compose.yml", "services:\n  web:\n    image: nginx\n    labels:\n      role: user\n"),
    ("ci.yml", "on: push\njobs:\n  a:\n    steps:\n    - run: echo ${{ github.sha }}\n"),
    ("values.yaml", "image: {{ .Values.image }}\nrole: {{ .Values.role }}\n"),
    ("users.json", '[{"role": "user", "email": "a@b.c"}, {"role": "admin"}]'),
    ("answer.json", '{"choices": [{"message": {"role": "assistant", "content": "x"}}]}'),
]


@pytest.mark.parametrize(("name", "text"), NO_PROMPTS, ids=[name for name, _ in NO_PROMPTS])
def test_other_files_hold_no_prompts(name, text):
    source = Source(name, text)
    assert READER.sniff(source) is Sniffed.NO or not READER.read(source, NoProject())


def test_a_broken_body_is_said_to_be_one():
    with pytest.raises(Unreadable, match="line 2"):
        documents_of(Source("a.json", '{"role": "user", "content": 1,\n oops}'), NoProject())


def test_a_bomb_of_aliases_in_a_conversation_ends():
    bomb = "a0: &a0 {role: user, content: x}\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)
    )
    assert len(read(bomb, "bomb.yaml")) <= 200
