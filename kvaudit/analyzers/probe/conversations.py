"""Conversations to render chat templates with: each at one request, and at the next.

Every text in them is unique, so that where it went can be told from the output.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Message = Mapping[str, Any]

FIRST_QUESTION = "Which bolt fits the old pump?"
LATE_SYSTEM = "From here on, quote prices in euros."
TOOL_TEXT = "Finds parts by thread and length."
REASONS = ("The pump takes metric threads.", "The stock list names two sizes.", "Eight is enough.")
ANSWERS = ("An M8 bolt fits it.", "It costs 40 cents.", "Two weeks.")
SYSTEM: Message = {"role": "system", "content": "You answer questions about bolts and nuts."}
TOOLS: Sequence[Mapping[str, Any]] = tuple(
    {
        "type": "function",
        "function": {
            "name": name,
            "description": text,
            "parameters": {
                "type": "object",
                "properties": {"part": {"type": "string", "description": "Number of the part."}},
                "required": ["part"],
            },
        },
    }
    for name, text in (("find_part", TOOL_TEXT), ("read_price", "Reads the price of a part."))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One conversation, when a request is sent and when the next one is."""

    name: str
    before: Sequence[Message]
    after: Sequence[Message]
    tools: bool = False
    answered: bool = False
    """What follows ``before`` is a plain answer."""


def user(number: int) -> Message:
    """Return a question."""
    texts = (FIRST_QUESTION, "What does it cost?", "When can it be here?")
    return {"role": "user", "content": texts[number]}


def answer(number: int, reasoning: str | None = None) -> Message:
    """Return an answer; ``reasoning`` is the field that carries it, or ``content`` in tags."""
    return _reasoned({"role": "assistant", "content": ANSWERS[number]}, number, reasoning)


def call(number: int, reasoning: str | None = None) -> Message:
    """Return a message that calls a tool."""
    made = {
        "id": f"call{number:05d}",
        "type": "function",
        "function": {"name": "find_part", "arguments": {"part": f"M{8 + number}"}},
    }
    message = {"role": "assistant", "content": "", "tool_calls": [made]}
    return _reasoned(message, number, reasoning)


def result(number: int) -> Message:
    """Return what a tool answered."""
    return {
        "role": "tool",
        "name": "find_part",
        "tool_call_id": f"call{number:05d}",
        "content": f"There are {31 + number} on the shelf.",
    }


def _reasoned(message: dict[str, Any], number: int, field: str | None) -> Message:
    if field == "content":
        text = f"<think>\n{REASONS[number]}\n</think>\n\n{message['content']}"
        return {**message, "content": text}
    return message if field is None else {**message, field: REASONS[number]}


def plain_cases() -> Iterator[Case]:
    """Yield conversations without reasoning, the simplest first."""
    rest = [answer(1), user(2)]
    start = [user(0), answer(0), user(1)]
    yield Case(name="two turns", before=start, after=[*start, *rest], answered=True)
    yield Case(
        name="two turns with a system message",
        before=[SYSTEM, *start],
        after=[SYSTEM, *start, *rest],
        answered=True,
    )
    yield Case(
        name="two turns with tools",
        before=[SYSTEM, *start],
        after=[SYSTEM, *start, *rest],
        tools=True,
    )
    looked_up = [user(0), call(0), result(0)]
    yield Case(
        name="a tool result last",
        before=looked_up,
        after=[*looked_up, answer(0), user(1)],
        tools=True,
    )
    yield Case(
        name="two tool calls in a row",
        before=looked_up,
        after=[*looked_up, call(1), result(1)],
        tools=True,
    )
    yield Case(
        name="a late system message",
        before=[SYSTEM, *start],
        after=[SYSTEM, *start, answer(1), {"role": "system", "content": LATE_SYSTEM}, user(2)],
    )


def reasoning_cases(field: str) -> Iterator[Case]:
    """Yield conversations whose answers carry reasoning in a field."""
    start = [user(0), answer(0, field), user(1)]
    yield Case(
        name="answers with reasoning",
        before=start,
        after=[*start, answer(1, field), user(2)],
    )
    steps = [user(0), call(0, field), result(0), call(1, field), result(1)]
    yield Case(
        name="a tool loop with reasoning",
        before=steps,
        after=[*steps, answer(2, field), user(1)],
        tools=True,
    )
    yield Case(
        name="two steps of a tool loop with reasoning",
        before=steps[:3],
        after=steps,
        tools=True,
    )


def arguments_written(message: Message) -> Message:
    """Return a message whose tool calls carry their arguments as JSON text, as over the wire."""
    if "tool_calls" not in message:
        return message
    calls = [
        {**c, "function": {**c["function"], "arguments": json.dumps(c["function"]["arguments"])}}
        for c in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}
