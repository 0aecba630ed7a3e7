"""Tool lists: the order they come in, whether they change in a session, what they say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kvaudit.analyzers.source.parts import Hazard
from kvaudit.analyzers.source.python.code import is_history, last_name, nodes, observe, short
from kvaudit.analyzers.source.python.drafts import Draft
from kvaudit.analyzers.source.python.engine import Engine, Seen, Unit, aged
from kvaudit.analyzers.source.python.rounds import is_last_round
from kvaudit.analyzers.source.python.values import Shape, Value, inner_values
from kvaudit.core.document import Evidence, Observation, Origin, Position, Volatility
from kvaudit.core.doubt import Doubt

_TOOLS = re.compile(
    r"_*(\w+_)?(tools|tool_(list|specs|defs|schemas|definitions))(_(list|specs|schemas|param))?"
)
_MAKES_TOOL = re.compile(
    r"(.*\.)?(\w*Tool|FunctionTool|StructuredTool\.from_function|Tool\.from_\w+|FunctionDeclaration|ToolDefinition|function_tool|tool)"
)
_TOOL_CLASS = re.compile(r"\w*Tool")
_SHOWN = ("name", "description", "inputs", "parameters", "args_schema", "enum", "default")
"""What a model is shown of a tool, in the words of its class or of its schema."""
_ARGUMENTS = frozenset(("inputs", "parameters", "args_schema", "input_schema"))
_ORDERS = ("set-order", "discovery-order", "listing-order", "shuffled-examples")
_FOUND = ("discovery-order", "listing-order", "set-order")
_SHRINKS = ("append", "extend", "insert", "remove", "pop")


def observed(engine: Engine, unit: Unit, drafts: Sequence[Draft]) -> Iterator[Observation]:
    """Yield what is wrong with a function's tool lists."""
    yield from _in_found_order(unit)
    yield from _changed_between_calls(engine, unit)
    yield from _changing_texts(unit)


def _in_found_order(unit: Unit) -> Iterator[Observation]:
    values = [
        value
        for name, value in unit.env.items()
        if "." in name and _TOOLS.fullmatch(name.rsplit(".", 1)[-1])
    ]
    values += [
        value
        for node, value in unit.returns
        if _TOOLS.fullmatch(unit.name) or _TOOLS.fullmatch(last_name(node))
    ]
    told = set()
    for value in values:
        for hazard in value.hazards if value.shape is not Shape.SET else ():
            if hazard.kind in _FOUND and hazard.span not in told:
                told.add(hazard.span)
                listed = hazard.kind == "listing-order"
                kind = hazard.kind if listed else "discovery-order"
                yield replace(_out_of_order(hazard), kind=kind)


def _changed_between_calls(engine: Engine, unit: Unit) -> Iterator[Observation]:
    """Yield places where a list that is sent with every turn grows or shrinks between turns."""
    for seen in unit.seen:
        sent = next((k.value for k in seen.node.keywords if k.arg == "tools"), None)
        if sent is None or not _sends_history(seen):
            continue
        if isinstance(sent, ast.IfExp) and seen.loops and _may_change(sent.test, seen.loops[-1]):
            detail = f"{short(engine, sent)} differs between turns"
            seen_once = observe(
                engine, sent, "tools-change-in-session", detail, position=Position.TOOLS
            )
            last = is_last_round(sent.test, seen.loops[-1])
            yield replace(seen_once, unseen=(Doubt.STAYS,)) if last else seen_once
        if not isinstance(sent, ast.Name | ast.Attribute):
            continue
        name = ast.dump(sent)
        made_here = isinstance(sent, ast.Name) and _is_made(engine, unit, sent.id, seen)
        where = ast.walk(seen.loops[-1]) if seen.loops else nodes(engine, unit)
        for node in where:
            if _changes(node, name) and not made_here:
                detail = f"{short(engine, node)} changes the list that every turn sends first"
                yield observe(
                    engine, node, "tools-change-in-session", detail, position=Position.TOOLS
                )


def _may_change(test: ast.expr, loop: ast.AST) -> bool:
    """Whether a condition may hold in one round of a loop and not in another."""
    if _asks_for_tools(test):
        return False
    inside = list(ast.walk(test))
    if any(isinstance(node, ast.Attribute | ast.Call | ast.Subscript) for node in inside):
        return True
    asked = {node.id for node in inside if isinstance(node, ast.Name)}
    return any(
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in asked
        for node in ast.walk(loop)
    )


def _asks_for_tools(test: ast.expr) -> bool:
    """Whether a condition is that there are tools at all: ``self.tools``, ``len(tools) > 0``."""
    asked = test.left if isinstance(test, ast.Compare) else test
    if isinstance(asked, ast.Call) and last_name(asked.func) in ("len", "bool") and asked.args:
        asked = asked.args[0]
    return _TOOLS.fullmatch(last_name(asked)) is not None


def _sends_history(seen: Seen) -> bool:
    given = {keyword.arg: keyword.value for keyword in seen.node.keywords}
    sent = given.get("messages", given.get("input"))
    return sent is not None and any(is_history(node) for node in ast.walk(sent))


def _is_made(engine: Engine, unit: Unit, name: str, seen: Seen) -> bool:
    """Whether the list is made anew before each call, in the loop or the function itself."""
    where = ast.walk(seen.loops[-1]) if seen.loops else nodes(engine, unit)
    return any(
        isinstance(node, ast.Assign | ast.AnnAssign)
        and any(
            isinstance(target, ast.Name) and target.id == name
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        )
        for node in where
    )


def _changes(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in _SHRINKS and ast.dump(node.func.value) == name
    return (
        isinstance(node, ast.AugAssign)
        and ast.dump(node.target).replace("Store()", "Load()") == name
    )


def _changing_texts(unit: Unit) -> Iterator[Observation]:
    """Yield values in names and descriptions of tools that change with session, turn or request."""
    for seen in unit.seen:
        if _makes_tool(seen.dotted):
            texts = [seen.named[n] for n in ("name", "description") if n in seen.named]
            yield from (o for text in texts for o in _volatile(text))
        if "tools" in seen.named:
            yield from _in_definitions(seen.named["tools"])
    for name, value in unit.env.items():
        if _TOOLS.fullmatch(name.rsplit(".", 1)[-1]):
            yield from _in_definitions(value)
    if _TOOLS.fullmatch(unit.name):
        for _, value in unit.returns:
            yield from _in_definitions(value)
    if unit.owner is not None and _is_tool(unit.owner):
        yield from _of_tool(unit)


def _makes_tool(dotted: str) -> bool:
    # The pattern is slow on long names, and most have neither word.
    named = "ool" in dotted or "FunctionDeclaration" in dotted
    return named and _MAKES_TOOL.fullmatch(dotted) is not None


def _is_tool(owner: ast.ClassDef) -> bool:
    return any(_TOOL_CLASS.fullmatch(name) for name in (owner.name, *map(last_name, owner.bases)))


def is_offered(owner: ast.ClassDef) -> bool:
    """Whether a class is a tool for a model to call: it is derived from one and says how to.

    What has such a name alone may be a tool of a drawing program.
    """
    derived = any(_TOOL_CLASS.fullmatch(last_name(base)) for base in owner.bases)
    named = {node.name for node in owner.body if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(owner) if derived else ():
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            named.add(last_name(node))
    return "description" in named and not _ARGUMENTS.isdisjoint(named)


def _of_tool(unit: Unit) -> Iterator[Observation]:
    """Yield what is wrong with the attributes of a tool's class that a model is shown."""
    texts = [
        value
        for name, value in unit.env.items()
        if name.removeprefix("self.") in _SHOWN and (unit.node is None or "." in name)
    ]
    if unit.name in _SHOWN:
        texts += [value for _, value in unit.returns]
    for value in texts:
        kept = aged(value, unit.phase)
        if kept.fields is None:
            yield from _volatile(kept)
        yield from _in_definitions(kept)


def _in_definitions(value: Value, depth: int = 5) -> Iterator[Observation]:
    for name, inner in (value.fields or {}).items():
        if name in _SHOWN and inner.fields is None:
            yield from _volatile(inner)
    for inner in inner_values(value) if depth else ():
        yield from _in_definitions(inner, depth - 1)


def _volatile(text: Value) -> Iterator[Observation]:
    for part in text.printed:
        yield from (_out_of_order(h) for h in part.hazards if h.kind in _ORDERS)
        if (
            part.text is None
            and part.evidence is not Evidence.NAME
            and part.volatility >= Volatility.SESSION
            and part.origin is not Origin.COUNTER
        ):
            yield Observation(
                kind="volatile-tool-text",
                source=part.source,
                span=part.span,
                detail=f"{part.expression} in a tool's description",
                position=Position.TOOLS,
                trail=part.trail,
            )


def _out_of_order(hazard: Hazard) -> Observation:
    return Observation(
        kind=hazard.kind,
        source=hazard.source,
        span=hazard.span,
        detail=hazard.detail,
        position=Position.TOOLS,
    )
