"""Arguments of past tool calls that are parsed and printed again on their way back."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvaudit.analyzers.source.ecmascript.bindings import Binding
from kvaudit.analyzers.source.ecmascript.code import observe, owner_name, short
from kvaudit.analyzers.source.ecmascript.engine import Engine
from kvaudit.analyzers.source.ecmascript.syntax import WRAPPERS, unwrapped
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.core.document import Observation

_ARGUMENTS = re.compile(
    r"(arguments|toolArgs|tool_args|functionArgs|function_args|argsJson|args_json|rawArgs|\bargs|toolInput|\binput)\b"
)
_SENT_BACK = re.compile(
    r"render|replay|format|convert|serial|toOpen|toAnthropic|message|history|prompt|build|tool_?calls",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"oken")


def replay_observations(engine: Engine) -> Iterator[Observation]:
    """Yield the places that write a past call's arguments anew."""
    for node in engine.module.calls:
        given = node.get("arguments")
        if engine.module.dotted(node.get("function")) != "JSON.stringify" or given is None:
            continue
        if not given.kids or _is_counted(engine, node):
            continue
        at_once = any(_parses_arguments(engine, inner) for inner in given.kids[0].walk())
        if not at_once and not _holds_arguments(engine, given.kids[0]):
            continue
        # A name far from where it was parsed may go to a screen as well as to the model, and what
        # is indented is for people to read.
        told = at_once and not given.kids[2:]
        if _is_arguments(engine, node) or (
            told and _SENT_BACK.search(owner_name(engine, node)) is not None
        ):
            detail = f"{short(engine, node)} need not give the text that the model wrote"
            yield observe(engine, node, "arguments-rewritten", detail)


def _parses_arguments(engine: Engine, node: Node) -> bool:
    return (
        node.kind == "call_expression"
        and engine.module.dotted(node.get("function")) == "JSON.parse"
        and _ARGUMENTS.search(engine.module.text(node)) is not None
    )


def _holds_arguments(engine: Engine, node: Node) -> bool:
    """Whether a name, or a copy of what it holds, was parsed from arguments."""
    if node.kind in WRAPPERS and node.kids:
        return _holds_arguments(engine, node.kids[0])
    if node.kind == "object":
        return any(
            kid.kind == "spread_element" and kid.kids and _holds_arguments(engine, kid.kids[0])
            for kid in node.kids
        )
    binding = engine.module.resolve(node, engine.module.text(node))
    return (
        node.kind == "identifier"
        and binding is not None
        and binding.kind == "variable"
        and any(_parses_arguments(engine, value) for value in _given(binding))
    )


def _given(binding: Binding) -> Iterator[Node]:
    """Yield what a variable is given, where it is declared and later."""
    for place in (binding.node, *binding.writes):
        value = unwrapped(place.get("value", "right"))
        if value is not None:
            yield from value.kids if value.kind == "ternary_expression" else (value,)


def _is_arguments(engine: Engine, node: Node) -> bool:
    """Whether a text becomes the arguments of a call: a pair of an object, or a member."""
    pair = node.above("pair", "assignment_expression")
    if pair is None or pair.get("value", "right") is not node:
        return False
    key = pair.get("key", "left")
    written = engine.module.text(key) if key is not None else ""
    return re.fullmatch(r"""["']?arguments["']?|.*\.arguments""", written, re.DOTALL) is not None


def _is_counted(engine: Engine, node: Node) -> bool:
    """Whether the text is only counted: ``countTokens(JSON.stringify(...))``."""
    outer = node.parent.parent if node.parent is not None else None
    return outer is not None and _COUNTED.search(engine.module.text(outer)[:60]) is not None
