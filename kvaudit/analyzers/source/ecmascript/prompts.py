"""Where the prompts of a file are: model calls, message lists, and what is named like one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from kvaudit.analyzers.source.ecmascript.drafts import (
    MESSAGE_KEYS,
    SYSTEM_KEYS,
    Draft,
    message_entries,
    request,
    role_of,
    tool_entries,
)
from kvaudit.analyzers.source.ecmascript.engine import Engine, Frame
from kvaudit.analyzers.source.ecmascript.evaluate import evaluate, result
from kvaudit.analyzers.source.ecmascript.named import draft_of
from kvaudit.analyzers.source.ecmascript.names import called
from kvaudit.analyzers.source.ecmascript.syntax import FUNCTIONS, function_around
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import Code, Shape, Value
from kvaudit.core.document import Position

_BESIDE = frozenset((
    "model", "tools", "temperature", "max_tokens", "maxTokens", "maxOutputTokens", "stream",
    "toolChoice", "tool_choice", "messages", "prompt", "contents", "input", "thinking",
    "schema", "maxSteps", "stopWhen", "prepareStep", "config",
))  # fmt: skip
_MODEL_CALL = re.compile(
    r"(\w+\.)*(generate(Text|Object|Content\w*)|stream(Text|Object|UI)?|create\w*|invoke|complete\w*|"
    r"chat\w*|ask\w*|call\w*|send\w*|converse\w*|run\w*|\w*Agent|\w*[lL][lL][mM]\w*)"
)
_REGISTERS = ("registerTool", "addTool", "defineTool", "createTool", "tool", "dynamicTool")
_SYSTEM_CLASSES = ("SystemMessage", "SystemChatMessage", "DeveloperMessage")
_NOT_MODEL = re.compile(
    r"(\w+\.)*(createElement|createContext|createHash|createTheme|createStore|createMock\w*)"
)


def drafts(engine: Engine) -> Iterator[Draft]:
    """Yield every prompt of the file; texts that went into a request are not told again."""
    for node in engine.module.objects:
        draft = _request(engine, node)
        if draft is not None:
            yield draft
    for node in engine.module.arrays:
        if node not in engine.touched and _holds_roles(engine, node):
            value = evaluate(engine, node, frame_at(engine, node))
            entries, turns = message_entries(value)
            yield Draft("messages", node, entries, multi_turn=turns, sent=True)
    yield from _added(engine)
    yield from _registered(engine)
    yield from _named(engine)


def frame_at(engine: Engine, node: Node) -> Frame:
    """Return a frame for a place, with the parameters of the functions around it left open."""
    around = function_around(node)
    functions: list[Node] = []
    while around is not None:
        functions.append(around)
        around = function_around(around)
    frame = Frame(engine.module)
    for function in reversed(functions):
        frame = Frame(engine.module, function, outer=frame)
    return frame


def keys_of(engine: Engine, node: Node) -> set[str]:
    """Return the keys that an object literal writes."""
    keys = set()
    for kid in node.kids:
        named = kid.get("key", "name") or (
            kid if kid.kind == "shorthand_property_identifier" else None
        )
        if named is not None:
            keys.add(engine.module.text(named).strip("\"'"))
    return keys


def _request(engine: Engine, node: Node) -> Draft | None:
    keys = keys_of(engine, node)
    if "role" in keys:
        return None
    around = node.parent
    callee = ""
    if around is not None and around.kind == "arguments" and around.parent is not None:
        callee = engine.module.dotted(around.parent.get("function", "constructor"))
    asks = bool(_MODEL_CALL.fullmatch(callee)) and not _NOT_MODEL.fullmatch(callee)
    system = keys & set(SYSTEM_KEYS)
    messages = keys & set(MESSAGE_KEYS[:2])
    if not (
        system or (messages and (asks or keys & {"model", "tools"})) or ("prompt" in keys and asks)
    ):
        return None
    if (
        system
        and not (asks or keys & _BESIDE)
        and system <= {"system", "instructions", "instruction", "developer"}
    ):
        return None
    value = evaluate(engine, node, frame_at(engine, node))
    draft = request(callee or "request", node, value.fields or {})
    if draft is not None:
        draft.sent = asks or bool(messages) or "model" in keys
    return draft


def _holds_roles(engine: Engine, node: Node) -> bool:
    for kid in node.kids:
        if kid.kind == "object" and "role" in keys_of(engine, kid):
            return True
        if kid.kind == "new_expression" and "Message" in engine.module.dotted(
            kid.get("constructor")
        ):
            return True
        if (
            kid.kind == "array"
            and kid.kids
            and engine.module.text(kid.kids[0]).strip("\"'") in ("system", "human")
        ):
            return True
    return False


def _added(engine: Engine) -> Iterator[Draft]:
    """Yield system messages that are put into a list which is made elsewhere."""
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
            if kid.kind not in ("object", "new_expression") or kid in engine.touched:
                continue
            value = evaluate(engine, kid, frame_at(engine, kid))
            if role_of(value) == "system":
                entries, _ = message_entries(Value(items=(value,), shape=Shape.LIST))
                if name == "push" and _holds_turns(engine, node):
                    entries = [replace(entry, position=Position.TAIL) for entry in entries]
                yield Draft("system message", kid, entries, sent=True)


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
                and "description" in keys_of(engine, kid)
            ):
                value = evaluate(engine, kid, frame_at(engine, kid))
                entries = tool_entries(Value(items=(value,), shape=Shape.LIST))
                yield Draft(name, kid, entries, sent=True)


def _named(engine: Engine) -> Iterator[Draft]:
    for function in engine.module.functions:
        name = name_of(engine, function)
        what = called(name)
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


def name_of(engine: Engine, function: Node) -> str:
    """Return a function's name: its own, or that of what it is assigned to."""
    name = function.get("name")
    around = function.parent
    while around is not None and around.kind in _AROUND_A_NAMED_ONE:
        around = around.parent
    if name is None and around is not None:
        name = around.get("name", "key", "property", "left")
    if name is None:
        return ""
    return engine.module.dotted(name).rsplit(".", 1)[-1] or engine.module.text(name)


_AROUND_A_NAMED_ONE = ("parenthesized_expression", "call_expression", "arguments")
