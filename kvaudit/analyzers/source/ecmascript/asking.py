"""Functions of the project that ask a model: what they send is known where they are called.

The bodies of requests in a function are read again for each call that gives it a prompt, with its
parameters as the call gives them, and so are those of the functions that it passes them on to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from kvaudit.analyzers.source.ecmascript.bodies import (
    body_of,
    frame_at,
    frame_within,
    holds_roles,
    keys_of,
    messages_in,
    request_in,
)
from kvaudit.analyzers.source.ecmascript.drafts import MESSAGE_KEYS, SYSTEM_KEYS, Draft, text_draft
from kvaudit.analyzers.source.ecmascript.engine import Engine, Frame
from kvaudit.analyzers.source.ecmascript.evaluate import arguments, element, evaluate
from kvaudit.analyzers.source.ecmascript.module import Module
from kvaudit.analyzers.source.ecmascript.named import MIN_LITERAL_CHARS
from kvaudit.analyzers.source.ecmascript.names import called
from kvaudit.analyzers.source.ecmascript.syntax import FUNCTIONS
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import Code, Shape
from kvaudit.analyzers.source.parts import Part
from kvaudit.analyzers.source.prompt_names import Called
from kvaudit.analyzers.stakes import low_stakes
from kvaudit.core.document import Position

MAX_CALLS = 3
"""Functions that pass a prompt on to one another before one of them asks."""
_SAYS_SO = (Called.SYSTEM, Called.PROMPT)
_KEYS = frozenset((*SYSTEM_KEYS, *MESSAGE_KEYS[:2], "prompt"))
_WRITTEN = frozenset(("template_string", "binary_expression"))
_ASKS = re.compile(
    r"\b(messages|contents|system\w*|role|prompt\w*|instructions?)\b|[gG]enerate|[iI]nvoke|[aA]sk"
    r"|[cC]hat|[cC]omplet|Message|^export \*",
    re.MULTILINE,
)
"""A word of what asks a model, or calls what does; looking for one costs less than following."""
_SPEAKS = re.compile(
    r"(\w+\.)*\w*([mM]odel|[lL][lL][mM]|[cC]hat|[gG]emini|[cC]laude|[gG][pP][tT]|[oO]pen[aA][iI])\w*"
    r"\.(invoke|call|predict|stream|generate|complete|generateContent(Stream)?|sendMessage(Stream)?)"
)
"""Calls of libraries that take a text by itself: Gemini's, LangChain's."""
MIN_WRITTEN = 100
"""Characters of a text that is written where it is given, to be looked at as a prompt."""


def asked(engine: Engine) -> Iterator[Draft]:
    """Yield the requests that functions of the project make of what this file gives them."""
    if low_stakes(PurePosixPath(engine.module.source.path).name):
        return  # what a test sends is no user's prompt
    for node in engine.module.calls:
        if node.kind != "call_expression" or not _gives_prompt(engine.module, node):
            continue
        if _may_ask(engine, node.get("function")):
            for draft in _requests(engine, node, frame_at(engine, node), ()):
                draft.name = engine.module.dotted(node.get("function"))
                yield draft


def _may_ask(engine: Engine, function: Node | None) -> bool:
    """Whether the file that a function is from has anything to do with asking a model."""
    while function is not None and function.kind == "member_expression":
        function = function.get("object")
    if function is None:
        return False
    binding = engine.module.resolve(function, engine.module.text(function))
    if binding is None or binding.kind != "import":
        return binding is not None or function.kind == "this"
    other = engine.source(engine.module, engine.module.imports[binding].path)
    return other is not None and _ASKS.search(other.text) is not None


def spoken(engine: Engine) -> Iterator[Draft]:
    """Yield prompts that are given to a model as one text: ``model.generateContent(prompt)``."""
    for node in engine.module.calls:
        given, function = node.get("arguments"), node.get("function")
        if given is None or not given.kids or given.kids[0].kind in ("object", "array"):
            continue
        name = engine.module.dotted(function)
        if _SPEAKS.fullmatch(name) is None:
            continue
        value = evaluate(engine, given.kids[0], frame_at(engine, node))
        fixed = sum(len(part.text or "") for part in value.parts)
        if value.shape is Shape.TEXT and fixed >= MIN_LITERAL_CHARS and value.text is None:
            draft = text_draft(name, node, value, Position.NEWEST, turns=False)
            draft.sent = True
            yield draft


def _requests(engine: Engine, call: Node, frame: Frame, passed: Sequence[Code]) -> Iterator[Draft]:
    """Yield the requests in the function that is called; ``passed`` are those on the way to it."""
    code = evaluate(engine, call.fields["function"], frame).code
    if code is None or code.node.kind not in FUNCTIONS or len(passed) == MAX_CALLS:
        return
    if any(code.node is one.node for one in passed):
        return
    if _ASKS.search(code.module.text(code.node)) is None:
        return
    given = [element(engine, frame, kid) for kid in call.fields["arguments"].kids]
    inside = Frame(code.module, code.node, arguments(code, given), code.frame, frame.depth + 1)
    way = (*passed, code)
    for draft in _bodies(engine, code, inside):
        parts = (part for entry in draft.entries for part in entry.value.printed)
        if draft.sent and any(_is_given(part, engine.module, way) for part in parts):
            yield draft
    for inner in _within(code.module.calls, code.node):
        if inner.kind == "call_expression" and _passes_on(code.module, inner, inside):
            at = frame_within(code.module, inner, inside)
            yield from _requests(engine, inner, at, way)


def _bodies(engine: Engine, code: Code, called_with: Frame) -> Iterator[Draft]:
    module = code.module
    told: set[Node] = set()
    for node in _within(module.objects, code.node):
        body = body_of(module, node)
        if body is not None and body.sent:
            told.update(node.walk())
            draft = request_in(engine, node, body, frame_within(module, node, called_with))
            if draft is not None:
                yield draft
    for node in _within(module.arrays, code.node):
        if node not in told and holds_roles(module, node):
            yield messages_in(engine, node, frame_within(module, node, called_with))


def _within(nodes: Sequence[Node], function: Node) -> Iterator[Node]:
    return (node for node in nodes if function.start <= node.start and node.end <= function.end)


def _is_given(part: Part, here: Module, way: Sequence[Code]) -> bool:
    """Whether a text comes from outside the functions that pass it on, and of their files."""
    return not any(
        part.source is code.module.source
        and (code.module is not here or code.node.start <= part.span.start < code.node.end)
        for code in way
    )


def _gives_prompt(module: Module, call: Node) -> bool:
    """Whether a call gives something that is a prompt by its name, or long enough for one.

    Options that are a request by themselves are read as one where they stand.
    """
    given, function = call.get("arguments"), call.get("function")
    if given is None or given.kind != "arguments" or function is None:
        return False
    return any(_is_prompt(module, kid) for kid in given.kids)


def _passes_on(module: Module, call: Node, frame: Frame) -> bool:
    """Whether a call gives what the function around it was given, or a prompt."""
    given = call.get("arguments")
    if given is None:
        return False
    parameters = any(
        kid.kind == "identifier" and module.text(kid) in frame.args for kid in given.kids
    )
    return parameters or _gives_prompt(module, call)


def _is_prompt(module: Module, node: Node) -> bool:
    if node.kind == "object":
        body = body_of(module, node)
        if body is not None and body.sent:
            return False
        return any(key in _KEYS or called(key) in _SAYS_SO for key in keys_of(module, node))
    if node.kind in _WRITTEN:
        return node.end - node.start >= MIN_WRITTEN
    name = module.dotted(node).rsplit(".", 1)[-1]
    return name in _KEYS or called(name) is not None
