"""What is the body of a request: the options of a model call, and lists of messages."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kvaudit.analyzers.source.ecmascript.drafts import (
    MESSAGE_KEYS,
    SYSTEM_KEYS,
    Draft,
    message_entries,
    request,
)
from kvaudit.analyzers.source.ecmascript.engine import Engine, Frame
from kvaudit.analyzers.source.ecmascript.evaluate import evaluate
from kvaudit.analyzers.source.ecmascript.module import Module
from kvaudit.analyzers.source.ecmascript.syntax import function_around
from kvaudit.analyzers.source.ecmascript.tree import Node

_BESIDE = frozenset((
    "model", "tools", "temperature", "max_tokens", "maxTokens", "maxOutputTokens", "stream",
    "toolChoice", "tool_choice", "messages", "prompt", "contents", "input", "thinking",
    "schema", "maxSteps", "stopWhen", "prepareStep", "config",
))  # fmt: skip
_OF_ANYTHING = frozenset(("system", "instructions", "instruction", "developer"))
"""Keys that name a system text only beside others of a request."""
_MODEL_CALL = re.compile(
    r"(\w+\.)*(generate(Text|Object|Content\w*)|stream(Text|Object|UI)?|create\w*|invoke|complete\w*|"
    r"chat\w*|ask\w*|call\w*|send\w*|converse\w*|run\w*|\w*Agent|\w*[lL][lL][mM]\w*)"
    r"|(\w+\.)*(ai|genkit|agent|client)\.generate(Stream)?"
)
_NOT_MODEL = re.compile(
    r"(\w+\.)*(createElement|createContext|createHash|createTheme|createStore|createMock\w*)"
)
_PROMPTS = re.compile(r"system|prompt|instruct", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Body:
    """An object that is the body of a request."""

    callee: str
    """What it is given to, by its dotted name; empty where that is not seen."""
    sent: bool


def frame_at(engine: Engine, node: Node) -> Frame:
    """Return a frame for a place of the file, with parameters of the functions around it open."""
    return frame_within(engine.module, node, None)


def frame_within(module: Module, node: Node, called: Frame | None) -> Frame:
    """Return a frame for a place in a function that is called; None is called from nowhere."""
    functions: list[Node] = []
    around = function_around(node)
    while around is not None and (called is None or around is not called.function):
        functions.append(around)
        around = function_around(around)
    frame = called or Frame(module)
    for function in reversed(functions):
        frame = Frame(module, function, outer=frame, depth=frame.depth)
    return frame


def keys_of(module: Module, node: Node) -> set[str]:
    """Return the keys that an object literal writes."""
    keys = set()
    for kid in node.kids:
        named = kid.get("key", "name") or (
            kid if kid.kind == "shorthand_property_identifier" else None
        )
        if named is not None:
            keys.add(module.text(named).strip("\"'"))
    return keys


def body_of(module: Module, node: Node) -> Body | None:
    """Return what an object literal is as the body of a request; None where it is none."""
    keys = keys_of(module, node)
    if "role" in keys:
        return None
    around = node.parent
    callee = ""
    if around is not None and around.kind == "arguments" and around.parent is not None:
        callee = module.dotted(around.parent.get("function", "constructor"))
    asks = bool(_MODEL_CALL.fullmatch(callee)) and not _NOT_MODEL.fullmatch(callee)
    system = keys & set(SYSTEM_KEYS)
    messages = keys & set(MESSAGE_KEYS[:2])
    talks = messages and (asks or keys & {"model", "tools"})
    if not (system or talks or ("prompt" in keys and asks)):
        return None
    if system and system <= _OF_ANYTHING and not (asks or keys & _BESIDE):
        return None
    return Body(callee, asks or bool(messages) or "model" in keys)


def request_in(engine: Engine, node: Node, body: Body, frame: Frame) -> Draft | None:
    """Return the draft of a request's body."""
    value = evaluate(engine, node, frame)
    fields = value.fields or {}
    draft = request(body.callee or "request", node, fields)
    if draft is not None:
        draft.sent = body.sent
        draft.described = not (body.callee or fields.keys() & {*MESSAGE_KEYS, "prompt"})
    return draft


def messages_in(engine: Engine, node: Node, frame: Frame) -> Draft:
    """Return the draft of a list of messages."""
    entries, turns = message_entries(evaluate(engine, node, frame))
    return Draft("messages", node, entries, multi_turn=turns, sent=True)


def holds_roles(module: Module, node: Node) -> bool:
    """Whether an array literal is a list of messages."""
    return any(is_message(module, kid) or _is_pair(module, kid) for kid in node.kids)


def is_message(module: Module, node: Node) -> bool:
    """Whether an expression is a message: an object, a class of one, a helper that makes it."""
    if node.kind == "object":
        return "role" in keys_of(module, node)
    if node.kind == "new_expression":
        return "Message" in module.dotted(node.get("constructor"))
    given = node.get("arguments") if node.kind == "call_expression" else None
    return given is not None and any(
        kid.kind == "object" and {"role", "content"} <= keys_of(module, kid) for kid in given.kids
    )


def spreads_prompts(module: Module, node: Node) -> bool:
    """Whether an array literal begins with lists that are named like the beginning of a prompt."""
    first = node.kids[0] if len(node.kids) > 1 else None
    return (
        first is not None
        and first.kind == "spread_element"
        and _PROMPTS.search(module.text(first)) is not None
    )


def _is_pair(module: Module, node: Node) -> bool:
    return (
        node.kind == "array"
        and bool(node.kids)
        and module.text(node.kids[0]).strip("\"'") in ("system", "human")
    )
