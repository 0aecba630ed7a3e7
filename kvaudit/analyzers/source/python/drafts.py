"""Prompts before they become documents: values with their positions, in the order of rendering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kvaudit.analyzers.source.python.engine import Seen, Unit
from kvaudit.analyzers.source.python.messages import content_of, role_of, text_of_block
from kvaudit.analyzers.source.python.values import Part, Shape, Value, changed
from kvaudit.core.document import Origin, Position, Volatility
from kvaudit.core.sources import Source, Span


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One text of a request, at its position."""

    position: Position
    value: Value
    marked: bool = False
    ttl: str | None = None
    at: tuple[Source, Span] | None = None
    """Where its block is written."""


@dataclass(slots=True, eq=False)
class Draft:
    """A prompt before it becomes a document."""

    name: str
    unit: Unit
    entries: list[Entry] = field(default_factory=list)
    multi_turn: bool = True
    loops: tuple[object, ...] = ()
    role_known: bool = True
    call: Seen | None = None
    sent: bool = False
    """Seen to go to a model: messages with roles, a call of one, an agent."""


def message_entries(messages: Value) -> tuple[list[Entry], bool]:
    """Return a message list's texts with their positions, and whether earlier turns are in it."""
    if messages.items is None:
        if not messages.parts or messages.shape is Shape.TEXT:
            return [Entry(Position.NEWEST, messages)] if messages.parts else [], False
        return [Entry(Position.HISTORY, earlier_turns(messages))], True
    items = messages.items
    roles = [role_of(item) for item in items]
    newest = _newest(items, roles)
    open_list = any(
        (item.spread and role is None) or (role == "placeholder" and not 0 <= newest < at)
        for at, (item, role) in enumerate(zip(items, roles, strict=True))
    )
    said = open_list or any(map(_is_answer, items, roles))
    begun = any(_is_begun(items[at], roles[at]) for at in range(newest + 1, len(items)))
    entries: list[Entry] = []
    for at, (item, role) in enumerate(zip(items, roles, strict=True)):
        if role is None and not item.spread and (item.items or item.fields):
            continue
        if role == "placeholder":
            # What a template puts behind the newest turn is that turn's own: an agent's notes.
            own = 0 <= newest < at
            entries.append(Entry(Position.TAIL if own else Position.HISTORY, content_of(item)))
        elif role is None:
            entries.append(Entry(Position.HISTORY, earlier_turns(item) if item.spread else item))
        elif role == "system":
            entries += blocks(Position.SYSTEM, content_of(item))
        elif item.spread:
            entries += blocks(Position.HISTORY, content_of(item))
        elif at == newest:
            entries += blocks(Position.NEWEST, content_of(item))
        elif at > newest and _is_begun(item, role):
            entries += blocks(Position.HISTORY, content_of(item))
        elif at > newest:
            entries += blocks(Position.TAIL, content_of(item))
        else:
            earlier = Position.HISTORY if said or item.spread else Position.FEWSHOT
            entries += blocks(earlier, content_of(item))
    return entries, open_list or begun or any(item.spread for item in items)


def _newest(items: Sequence[Value], roles: Sequence[str | None]) -> int:
    """Return where the newest turn stands; behind all of them where a conversation comes last."""
    asked = ("user", "unknown")
    own = [at for at, role in enumerate(roles) if role in asked and not items[at].spread]
    said = [at for at, role in enumerate(roles) if role in asked and items[at].spread]
    if said and (not own or said[-1] > own[-1]):
        return len(items)
    return own[-1] if own else -1


def _is_answer(message: Value, role: str | None) -> bool:
    """Whether a message was said by a model, and is no example that is written out."""
    return role == "assistant" and any(
        part.volatility > Volatility.CONSTANT for part in content_of(message).printed
    )


def _is_begun(message: Value, role: str | None) -> bool:
    """Whether an answer is what a model has said so far, and goes on with; no first words for it.

    An agent that keeps its steps in one answer sends it again, and longer, with each of them.
    """
    said = content_of(message).printed
    return _is_answer(message, role) and all(part.text is None for part in said)


def earlier_turns(messages: Value) -> Value:
    """Return earlier messages as the history, though they come from what is called a memory."""

    def is_said(part: Part) -> tuple[Part, ...]:
        return (part.of(Origin.HISTORY) if part.origin is Origin.LIVE_STATE else part,)

    return changed(messages, is_said)


def blocks(position: Position, content: Value) -> list[Entry]:
    """Return a content's blocks, each with whether a marker stands on it."""
    if content.items is None:
        return [_block(position, content)]
    return [_block(position, item) for item in content.items]


def _block(position: Position, value: Value) -> Entry:
    mark = (value.fields or {}).get("cache_control")
    ttl = (mark.fields or {}).get("ttl") if mark is not None else None
    named = ttl.text if ttl is not None else "5m" if mark is not None else None
    return Entry(position, text_of_block(value), is_marked(value), named, value.at)


def is_marked(value: Value) -> bool:
    """Whether a block has a cache marker on it."""
    fields = value.fields or {}
    if "cache" in fields and fields["cache"].literal is True:
        return True
    return "cache_control" in fields or "cachePoint" in fields


def tool_entries(tools: Value) -> list[Entry]:
    """Return the texts of tool definitions."""
    return [Entry(Position.TOOLS, tools)] if tools.printed else []
