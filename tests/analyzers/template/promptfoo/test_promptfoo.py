"""promptfoo configurations: where prompts stand, what fills them in, what is left alone."""

import pytest

from kvaudit.analyzers.run import reader_for
from kvaudit.core.sources import Source

CONFIG = """\
description: Compare
prompts:
  - 'Answer {{question}} briefly.'
  - file://prompts/other.txt
  - id: file://prompts/chat.json
  - raw: "Reply to {{ message }}"
    label: labelled
  - |-
    [
      {"role": "system", "content": "You are {{persona}}."},
      {"role": "user", "content": "{{question}}"}
    ]
providers:
  - openai:gpt-5
tests:
  - vars: {question: why}
"""


def holes(documents):
    return [
        (d.name, s.expression, s.source.text[s.span.start : s.span.end] == s.expression)
        for d in documents
        for s in d.segments
        if s.expression
    ]


def test_every_prompt_is_a_document_with_exact_places(read):
    files = {"prompts/other.txt": "First {{a}}\n---\nThen {{b}}", "prompts/chat.json": "[]"}
    documents = read(CONFIG, "promptfooconfig.yaml", files)
    assert holes(documents) == [
        ("prompts.0", "{{question}}", True),
        ("prompts.1", "{{a}}", True),
        ("prompts.1", "{{b}}", True),
        ("labelled", "{{ message }}", True),
        ("prompts.4", "{{persona}}", True),
        ("prompts.4", "{{question}}", True),
    ]


def test_a_prompt_is_one_call_unless_it_prints_the_conversation(read):
    loop = "{% for m in _conversation %}{{ m }}{% endfor %}"
    config = f"prompts:\n  - '{{{{question}}}} ?'\n  - '{loop}'\ntests: []\n"
    assert [d.multi_turn for d in read(config, "promptfooconfig.yaml")] == [False, True]


@pytest.mark.parametrize(
    "text",
    ["prompts: 3\nname: x\n", "prompts:\n  - ask\nother: 1\n", "tests:\n  - a\n"],
)
def test_other_yaml_is_left_alone(text):
    assert reader_for(Source("config.yaml", text)) is None
