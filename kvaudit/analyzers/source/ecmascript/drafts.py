"""Requests and message lists as drafts: values with their positions, in rendered order.

Providers render tools first, then the system text, then the messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import NOTHING, Shape, Value, changed
from kvaudit.analyzers.source.parts import Part
from kvaudit.core.document import Evidence, Origin, Position

SYSTEM_KEYS = (
    "system", "systemPrompt", "system_prompt", "systemInstruction", "system_instruction",
    "systemInstructions", "systemMessage", "instructions", "instruction", "developer",
    "systemText", "appendSystemPrompt", "customSystemPrompt",
)  # fmt: skip
MESSAGE_KEYS = ("messages", "contents", "input")
_ROLES = {
    "system": "system", "developer": "system", "user": "user", "human": "user",
    "assistant": "assistant", "ai": "assistant", "model": "assistant", "tool": "tool",
    "function": "tool", "placeholder": "placeholder",
}  # fmt: skip
_CONTENTS = ("content", "parts", "text", "contentParts")
_MARKS = ("cache_control", "cachePoint", "cacheControl")
_OF_TOOLS = frozenset(("toolResult", "toolUse", "functionResponse", "functionCall"))
"""Keys of blocks that hold a call of a tool or its result, as Bedrock's and Gemini's do."""
_TYPES_OF_TOOLS = frozenset(("tool_result", "tool_use", "tool-result", "tool-call"))


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One text of a request, at its position."""

    position: Position
    value: Value
    marked: bool = False


@dataclass(slots=True, eq=False)
class Draft:
    """A prompt before it becomes a document."""

    name: str
    node: Node
    entries: list[Entry] = field(default_factory=list)
    multi_turn: bool = True
    by_name: bool = False
    """Only a weak name says that it is a prompt."""
    model: str | None = None
    low_stakes: bool = False
    sent: bool = False
    """Seen to go to a model: messages with roles, the options of a call of one."""
    described: bool = False
    """The settings of an agent, of which other code makes requests, and marks them."""


def request(name: str, node: Node, fields: Mapping[str, Value]) -> Draft | None:
    """Return the draft of a request body or of the options of a model call."""
    entries: list[Entry] = []
    config = fields.get("config")
    if config is not None and config.fields:
        fields = {**config.fields, **fields}
    if "tools" in fields:
        entries += tool_entries(fields["tools"])
    for key in SYSTEM_KEYS:
        value = fields.get(key)
        if value is not None and _is_text(value):
            entries += blocks(Position.SYSTEM, value)
    turns = "prompt" not in fields or "tools" in fields
    messages = next(
        (fields[key] for key in MESSAGE_KEYS if key in fields and _are(fields[key])), None
    )
    if messages is not None:
        more, turns = message_entries(messages)
        turns = turns or "tools" in fields
        entries += more
    elif "messages" in fields:
        entries.append(Entry(Position.HISTORY, earlier_turns(fields["messages"])))
        turns = True
    if "prompt" in fields and messages is None and _is_text(fields["prompt"]):
        entries.append(Entry(Position.NEWEST, fields["prompt"]))
    if not any(entry.value.printed for entry in entries):
        return None
    model = fields["model"].text if "model" in fields else None
    return Draft(name, node, entries, multi_turn=turns, model=model)


_BEGINNING = re.compile(r"system|base|prefix|shots?|examples?|instruct|prompt", re.IGNORECASE)
"""Names of lists of messages that stand before the history."""


def _are(value: Value) -> bool:
    return value.items is not None and bool(value.items)


def _is_text(value: Value) -> bool:
    return value.code is None and bool(value.printed)


def message_entries(messages: Value) -> tuple[list[Entry], bool]:
    """Return a message list's texts with their positions, and whether earlier turns are in it."""
    items = list(_each(messages.items or ()))
    roles = [role_of(item) for item in items]
    newest = max((at for at, role in enumerate(roles) if role in ("user", "unknown")), default=-1)
    open_list = any(
        (item.spread or role == "placeholder" or role is None)
        for item, role in zip(items, roles, strict=True)
    )
    # What is put behind the history is sent with this turn; the next one may not have it.
    behind = max((at for at, item in enumerate(items) if _is_history(item, roles[at])), default=-1)
    entries: list[Entry] = []
    for at, (item, role) in enumerate(zip(items, roles, strict=True)):
        if role is None or role == "placeholder":
            entries.append(Entry(Position.HISTORY, earlier_turns(item)))
        elif 0 <= behind < at != newest:
            entries += blocks(Position.TAIL, content_of(item), marked=is_marked(item))
        elif role == "system":
            entries += blocks(Position.SYSTEM, content_of(item), marked=is_marked(item))
        elif at == newest and not item.spread:
            entries += blocks(Position.NEWEST, content_of(item), marked=is_marked(item))
        elif at > newest:
            entries += blocks(Position.TAIL, content_of(item), marked=is_marked(item))
        else:
            earlier = Position.HISTORY if open_list else Position.FEWSHOT
            content = content_of(item)
            if role in ("assistant", "tool"):
                content = changed(content, _as_said)
            entries += blocks(earlier, content, marked=is_marked(item))
    return entries, open_list


def _each(items: Iterable[Value]) -> Iterator[Value]:
    """Yield messages, and those of lists that are put into the list as they are written."""
    for item in items:
        inner = item.items or ()
        if role_of(item) is None and any(role_of(message) is not None for message in inner):
            yield from _each(inner)
        else:
            yield item


def _is_history(item: Value, role: str | None) -> bool:
    """Whether an element stands for the turns so far, and not for more of the beginning."""
    if role == "placeholder":
        return True
    sole = item.sole
    return (
        role is None
        and item.spread
        and sole is not None
        and (_BEGINNING.search(sole.expression or "") is None)
    )


def earlier_turns(value: Value) -> Value:
    """Return messages that are made elsewhere: of their text nothing is known."""
    if value.parts and value.fields is None and value.items is None:
        return changed(value, _as_history)
    if value.node is None or value.source is None:
        return NOTHING
    text = value.source.text[value.node.start : value.node.end]
    part = Part(value.source, value.node.span, expression=text, evidence=Evidence.NAME)
    return Value(parts=(part.of(Origin.HISTORY),), hazards=value.hazards)


def _as_history(part: Part) -> Part:
    return part.of(Origin.HISTORY) if part.text is None and part.origin is Origin.UNKNOWN else part


def _as_said(part: Part) -> Part:
    """Return what a program writes into an answer or a result: said once, and kept as it is."""
    drawn = part.origin in (Origin.CLOCK, Origin.RANDOM, Origin.COUNTER)
    return part.of(Origin.HISTORY) if drawn else part


def blocks(position: Position, content: Value, *, marked: bool = False) -> list[Entry]:
    """Return a content's blocks, each with whether a marker stands on it."""
    if content.items is None:
        text = block_text(content)
        return [Entry(position, text, marked or is_marked(content))]
    return [Entry(position, block_text(item), is_marked(item)) for item in content.items]


def role_of(value: Value) -> str | None:
    """Return a message's role in one of four words; None where a value is no message."""
    if value.fields is None:
        pair = value.items
        if pair is not None and len(pair) == 2 and pair[0].text in _ROLES:
            return _ROLES[pair[0].text or ""]
        return None
    if "role" not in value.fields or not value.fields.keys() & set(_CONTENTS):
        return None
    role = value.fields["role"]
    written = role.text
    if written is None and role.parts:
        written = (role.parts[0].expression or "").rsplit(".", 1)[-1].lower()
    return _ROLES.get(written or "", "unknown")


def content_of(value: Value) -> Value:
    """Return a message's content."""
    if value.fields is None:
        pair = value.items or ()
        return pair[1] if len(pair) == 2 else value
    for name in _CONTENTS:
        if name in value.fields:
            return value.fields[name]
    return replace(value, fields={})


def block_text(value: Value) -> Value:
    """Return a content block's text; the value itself where it is no block."""
    if value.fields is None:
        return value
    if _is_of_tool(value.fields):
        return changed(value, _as_said)
    for name in ("text", "content", "parts"):
        if name in value.fields:
            return value.fields[name]
    return value


def _is_of_tool(block: Mapping[str, Value]) -> bool:
    """Whether a block is a call of a tool or its result, in whatever role it is sent."""
    named = block["type"].text if "type" in block else None
    return named in _TYPES_OF_TOOLS or not _OF_TOOLS.isdisjoint(block)


def is_marked(value: Value) -> bool:
    """Whether a block or a message has a cache marker on it.

    A marker that is a variable may be none: adapters pass on what they are given.
    """
    fields = value.fields or {}
    options = fields.get("providerOptions") or fields.get("experimental_providerMetadata")
    inner = (options.fields or {}).values() if options is not None else ()
    held = [fields, *(each.fields or {} for each in inner)]
    return any(mark in each and _is_set(each[mark]) for each in held for mark in _MARKS)


def _is_set(marker: Value) -> bool:
    sole = marker.sole
    return marker.fields is not None or (sole is not None and sole.origin is Origin.CONSTANT)


def tool_entries(tools: Value) -> list[Entry]:
    """Return the names and descriptions of tool definitions; schemas hold little text."""
    listed = tools.items if tools.items is not None else tuple((tools.fields or {}).values())
    entries = []
    for tool in listed:
        fields = tool.fields or {}
        inner = fields.get("function")
        if inner is not None and inner.fields:
            fields = inner.fields
        entries += [
            Entry(Position.TOOLS, fields[k])
            for k in ("name", "description")
            if k in fields and _is_text(fields[k])
        ]
    if tools.hazards and not entries:
        entries.append(Entry(Position.TOOLS, tools))
    return entries


def weakened(entries: Sequence[Entry]) -> list[Entry]:
    """Return texts as known by name only."""
    return [
        replace(e, value=changed(e.value, lambda part: replace(part, evidence=Evidence.NAME)))
        for e in entries
    ]


def text_draft(name: str, node: Node, value: Value, position: Position, *, turns: bool) -> Draft:
    """Return the draft of one text."""
    made = blocks(position, replace(value, spread=False)) if value.shape is Shape.LIST else None
    entries = made or [Entry(position, replace(value, spread=False))]
    return Draft(name, node, entries, multi_turn=turns)
