"""System messages outside a request: made by a class, put into a list, written anew in one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from kvaudit.analyzers.source.ecmascript.bodies import frame_at, is_message
from kvaudit.analyzers.source.ecmascript.code import last_name, pair_value
from kvaudit.analyzers.source.ecmascript.drafts import (
    Draft,
    Entry,
    blocks,
    earlier_turns,
    message_entries,
    role_of,
)
from kvaudit.analyzers.source.ecmascript.engine import Engine, Frame
from kvaudit.analyzers.source.ecmascript.evaluate import evaluate
from kvaudit.analyzers.source.ecmascript.named import draft_of
from kvaudit.analyzers.source.ecmascript.syntax import FUNCTIONS, WRAPPERS
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import Shape, Value
from kvaudit.analyzers.source.prompt_names import Called
from kvaudit.core.document import Position

_SYSTEM_CLASSES = ("SystemMessage", "SystemChatMessage", "DeveloperMessage")
_FIRST_MESSAGE = re.compile(r"(^|\.|_)(m|\w+M)essages\[0\]!?\.content$")
_IS_SYSTEM = re.compile(r"\brole\s*===?\s*[\"'](system|developer)[\"']")


def system_messages(engine: Engine) -> Iterator[Draft]:
    """Yield the system messages that a file makes, or puts into a list."""
    for node in engine.module.calls:
        name = engine.module.dotted(node.get("function", "constructor")).rsplit(".", 1)[-1]
        given = node.get("arguments")
        if name in _SYSTEM_CLASSES and node not in engine.touched:
            value = evaluate(engine, node, frame_at(engine, node))
            if role_of(value) == "system":
                entries, _ = message_entries(Value(items=(value,), shape=Shape.LIST))
                yield Draft("system message", node, entries, sent=True)
        if name not in ("push", "unshift") or given is None:
            continue
        for kid in given.kids:
            if kid in engine.touched or not is_message(engine.module, kid):
                continue
            value = evaluate(engine, kid, frame_at(engine, kid))
            if role_of(value) == "system":
                entries, _ = message_entries(Value(items=(value,), shape=Shape.LIST))
                if name == "push" and _holds_turns(engine, node):
                    entries = [replace(entry, position=Position.TAIL) for entry in entries]
                elif name == "unshift":
                    entries += _behind(engine, node.fields["function"])
                yield Draft("system message", kid, entries, sent=True)
    yield from _rewritten(engine)
    yield from _mapped(engine)


def _rewritten(engine: Engine) -> Iterator[Draft]:
    """Yield what is written over the first message of a conversation: its system text."""
    for node in engine.module.assignments:
        left, right = node.get("left"), node.get("right")
        if left is None or right is None or not _FIRST_MESSAGE.search(engine.module.text(left)):
            continue
        value = evaluate(engine, right, frame_at(engine, node))
        for draft in draft_of("system message", node, value, Called.SYSTEM):
            draft.sent = True
            draft.entries += _behind(engine, left)
            yield draft


def _mapped(engine: Engine) -> Iterator[Draft]:
    """Yield what a map over messages makes of the system text: the turns stand behind it."""
    for node in engine.module.calls:
        function, given = node.get("function"), node.get("arguments")
        made_by = given.kids[0] if given is not None and given.kids else None
        rows = function.get("object") if function is not None else None
        if made_by is None or made_by.kind not in FUNCTIONS or rows is None:
            continue
        if last_name(engine, function) != "map":
            continue
        content = _of_system(engine, made_by)
        if content is None:
            continue
        frame = Frame(engine.module, made_by, outer=frame_at(engine, node))
        for entry in blocks(Position.SYSTEM, evaluate(engine, content, frame)):
            turns = Value(node=rows, source=engine.module.source)
            entries = [entry, Entry(Position.HISTORY, earlier_turns(turns))]
            yield Draft("system message", content, entries, sent=True)


def _of_system(engine: Engine, made_by: Node) -> Node | None:
    """Return the content that a function writes into a message whose role is the system's."""
    for branch in made_by.walk():
        condition, then = branch.get("condition"), branch.get("consequence")
        if (
            condition is None
            or then is None
            or not _IS_SYSTEM.search(engine.module.text(condition))
        ):
            continue
        for made in then.walk():
            content = pair_value(engine, made, "content") if made.kind == "object" else None
            if content is not None:
                return content
    return None


def _behind(engine: Engine, place: Node) -> list[Entry]:
    """Return the turns that stand behind what is put at the head of a list of messages.

    Only one that a function is given is seen to hold some; one that is made there may be new.
    """
    while place.kind in WRAPPERS or place.get("object") is not None:
        place = place.get("object") or place.kids[0]
    held = engine.module.resolve(place, engine.module.text(place))
    if held is None or held.kind != "param":
        return []
    turns = Value(node=place, source=engine.module.source)
    return [Entry(Position.HISTORY, earlier_turns(turns))]


def _holds_turns(engine: Engine, push: Node) -> bool:
    """Whether a list that something is pushed to was made as a copy of another one."""
    function = push.get("function")
    target = function.get("object") if function is not None else None
    if target is None:
        return False
    binding = engine.module.resolve(target, engine.module.text(target))
    made = binding.node.get("value") if binding is not None else None
    return (
        made is not None
        and made.kind == "array"
        and any(kid.kind == "spread_element" for kid in made.kids)
    )
