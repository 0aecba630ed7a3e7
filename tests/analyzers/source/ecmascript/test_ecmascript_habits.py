"""What is observed about requests: tool lists, histories, provider switches; and what is not.

The cases are the fenced blocks of the Markdown files beside this one.
"""

import re
from pathlib import Path

import pytest


def blocks(name):
    text = Path(__file__).with_name(name).read_text("utf-8")
    return re.findall(r"^```ts ?(\S*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(("kind", "text"), blocks("habits_seen.md"))
def test_observed(kinds, kind, text):
    marked = text[text.index("⟦") + 1 : text.index("⟧")]
    found = kinds(text.replace("⟦", "").replace("⟧", ""))
    assert [k for k, _ in found] == [kind]
    assert found[0][1] in marked


@pytest.mark.parametrize("text", [text for _, text in blocks("habits_fine.md")])
def test_not_observed(kinds, text):
    assert kinds(text) == []


def test_a_class_of_another_file_that_extends_a_window_of_a_library_is_one(kinds):
    base = (
        "import { BufferWindowMemory } from 'langchain/memory';\n"
        "export abstract class OwnWindowMemory extends BufferWindowMemory { abstract clear(); }\n"
    )
    text = (
        "import { OwnWindowMemory } from './base';\nclass Mine extends OwnWindowMemory { }\n"
        "export const memory = new Mine({ k: 10 });\n"
    )
    assert kinds(text, "memory.ts", {"base.ts": base}) == [("history-trimmed-each-turn", "Mine")]
    assert kinds(text, "memory.ts", {"base.ts": base.replace("BufferWindow", "Chat")}) == []


@pytest.mark.parametrize(("name", "seen"), [("app/api/chat/route.ts", 1), ("api/summary.ts", 0)])
def test_the_file_that_answers_the_web_need_not_ask_once(kinds, name, seen):
    text = "export const POST = (messages) => llm.create({ model, messages: messages.slice(-20) });"
    assert len(kinds(text, name)) == seen


@pytest.mark.parametrize(
    ("held", "seen"),
    [
        ("version < 2 ? BufferMemory : BufferWindowMemory", 1),
        ("BufferWindowMemory", 1),
        ("version < 2 ? BufferMemory : BufferMemory", 0),
    ],
)
def test_a_variable_may_hold_the_class_of_a_window(kinds, held, seen):
    text = (
        "import { BufferMemory, BufferWindowMemory } from 'langchain/memory';\n"
        f"export function supply(version, k) {{ const Kept = {held};\n"
        "  return new Kept({ memoryKey: 'chat', k }); }\n"
    )
    assert kinds(text) == [("history-trimmed-each-turn", "Kept")] * seen
