"""Where the prompts of a file are: model calls, message lists, and what is named like one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvaudit.analyzers.source.ecmascript.asking import asked, spoken
from kvaudit.analyzers.source.ecmascript.bodies import (
    body_of,
    frame_at,
    holds_roles,
    keys_of,
    messages_in,
    request_in,
    spreads_prompts,
)
from kvaudit.analyzers.source.ecmascript.code import name_of
from kvaudit.analyzers.source.ecmascript.drafts import (
    Draft,
    tool_entries,
)
from kvaudit.analyzers.source.ecmascript.engine import Engine, Frame
from kvaudit.analyzers.source.ecmascript.evaluate import evaluate, result
from kvaudit.analyzers.source.ecmascript.markup import rendered_prompts
from kvaudit.analyzers.source.ecmascript.named import draft_of
from kvaudit.analyzers.source.ecmascript.names import called
from kvaudit.analyzers.source.ecmascript.syntax import FUNCTIONS, function_around
from kvaudit.analyzers.source.ecmascript.system_messages import system_messages
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import Code, Shape, Value
from kvaudit.analyzers.source.prompt_names import Called
from kvaudit.core.document import Position

_REGISTERS = ("registerTool", "addTool", "defineTool", "createTool", "tool", "dynamicTool")
LEAST_SPEECH = 1_000
"""Characters of a text that is taken for a prompt for what it says alone."""
_SPEECH = re.compile(r"\b[Yy]ou are (?:an?|the)\b|\b[Yy]our (?:task|job|goal|role)\b")


def drafts(engine: Engine) -> Iterator[Draft]:
    """Yield every prompt of the file; texts that went into a request are not told again."""
    for node in engine.module.objects:
        body = body_of(engine.module, node)
        draft = request_in(engine, node, body, frame_at(engine, node)) if body is not None else None
        if draft is not None:
            yield draft
    yield from _listed(engine)
    yield from spoken(engine)
    yield from asked(engine)
    yield from system_messages(engine)
    yield from rendered_prompts(engine)
    yield from _registered(engine)
    yield from _named(engine)


def _listed(engine: Engine) -> Iterator[Draft]:
    """Yield lists of messages that are in no request of this file."""
    for node in engine.module.arrays:
        if node in engine.touched:
            continue
        certain = holds_roles(engine.module, node)
        if certain or spreads_prompts(engine.module, node):
            draft = messages_in(engine, node, frame_at(engine, node))
            if certain or any(entry.position is not Position.HISTORY for entry in draft.entries):
                yield draft


def _registered(engine: Engine) -> Iterator[Draft]:
    """Yield tools that are handed to a server or an agent one by one."""
    for node in engine.module.calls:
        given = node.get("arguments")
        name = engine.module.dotted(node.get("function")).rsplit(".", 1)[-1]
        if name not in _REGISTERS or given is None:
            continue
        for kid in given.kids:
            if (
                kid.kind == "object"
                and kid not in engine.touched
                and "description" in keys_of(engine.module, kid)
            ):
                value = evaluate(engine, kid, frame_at(engine, kid))
                entries = tool_entries(Value(items=(value,), shape=Shape.LIST))
                yield Draft(name, kid, entries, sent=True)


def _named(engine: Engine) -> Iterator[Draft]:
    for function in engine.module.functions:
        name = name_of(engine, function)
        what = called(name) or _speaks(engine, function)
        if what is None or function in engine.touched:
            continue
        code = Code(engine.module, function, frame_at(engine, function))
        frame = frame_at(engine, function)
        yield from draft_of(name, function, result(engine, frame, code, []), what)
    for node in engine.module.declarators:
        name_node, value_node = node.get("name"), node.get("value")
        if name_node is None or value_node is None or node in engine.touched:
            continue
        name = engine.module.text(name_node)
        what = called(name)
        if what is None or value_node.kind in FUNCTIONS:
            continue
        frame = frame_at(engine, node)
        end = Node("identifier", name_node.start, name_node.end, name_node.parent)
        value = _final(engine, frame, end, node)
        yield from draft_of(name, node, value, what)
    for node in (*engine.module.assignments, *engine.module.fields):
        left = node.get("left", "name", "property")
        right = node.get("right", "value")
        if left is None or right is None or right.kind in FUNCTIONS:
            continue
        name = engine.module.dotted(left).rsplit(".", 1)[-1]
        what = called(name)
        if what is not None and not _is_variable(engine, left):
            value = evaluate(engine, right, frame_at(engine, node))
            yield from draft_of(name, node, value, what)


def _speaks(engine: Engine, function: Node) -> Called | None:
    """Return that a function may give a prompt, whatever its name: a long text that speaks so."""
    if function.end - function.start < LEAST_SPEECH:
        return None
    for given in engine.module.returned(function):
        text = engine.module.text(given) if given.kind == "template_string" else ""
        if len(text) >= LEAST_SPEECH and _SPEECH.search(text):
            return Called.CONTEXT
    return None


def _is_variable(engine: Engine, left: Node) -> bool:
    return (
        left.kind == "identifier"
        and engine.module.resolve(left, engine.module.text(left)) is not None
    )


def _final(engine: Engine, frame: Frame, name: Node, node: Node) -> Value:
    """Return a variable's value at the end of its function."""
    around = function_around(node)
    name.start = name.end = around.end if around is not None else engine.module.root.end
    binding = engine.module.resolve(node, engine.module.text(node.fields["name"]))
    if binding is None:
        return evaluate(engine, node.fields["value"], frame)
    from kvaudit.analyzers.source.ecmascript.lookup import bound

    return bound(engine, frame, name, binding)
