"""Small questions about code that several observers ask."""

from __future__ import annotations

import ast
import re

from kvaudit.analyzers.source.python.engine import Engine, Unit
from kvaudit.analyzers.source.python.module import Function
from kvaudit.core.document import Evidence, Observation, Position

HISTORY = re.compile(
    r"(\w+_)?(history|hist|messages|msgs|conversation|turns|chat_log|transcript|dialog(ue)?|chat)"
)
ONE_SHOT = re.compile(
    r"summar|condens|compact|title|classif|categori|extract|rewrite|rephrase|rerank|judge|grade"
    r"|translat|one_?shot|label|moderat|detect|intent|suggest|follow_?up|keyword|caption|tag_",
    re.IGNORECASE,
)


_OF_THEIR_OWN = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def body_of(engine: Engine, unit: Unit) -> list[ast.stmt]:
    """Return the statements of a unit."""
    if unit.node is not None:
        return unit.node.body
    inner = unit.owner.body if unit.owner is not None else engine.module.tree.body
    return [node for node in inner if not isinstance(node, Function | ast.ClassDef)]


def nodes(engine: Engine, unit: Unit) -> list[ast.AST]:
    """Return the nodes of a unit in order, those of functions inside it left out."""
    if not unit.nodes and not unit.main:
        stack: list[ast.AST] = list(reversed(body_of(engine, unit)))
        while stack:
            node = stack.pop()
            unit.nodes.append(node)
            if type(node) not in _OF_THEIR_OWN:
                _push_children(stack, node)
    return unit.nodes


def _push_children(stack: list[ast.AST], node: ast.AST) -> None:
    """Put what stands in a node on a stack, the first on top; `ast` does so by two generators."""
    for name in reversed(node._fields):
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            stack.append(value)
        elif isinstance(value, list):
            stack.extend(item for item in reversed(value) if isinstance(item, ast.AST))


def parents(engine: Engine, unit: Unit) -> dict[ast.AST, ast.AST]:
    """Return what every node of a unit stands in."""
    if not unit.parents:
        for node in nodes(engine, unit):
            unit.parents.update(dict.fromkeys(ast.iter_child_nodes(node), node))
    return unit.parents


def last_name(node: ast.AST) -> str:
    """Return the last name of a dotted expression, a call or an entry by a constant key."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return node.slice.value
        return last_name(node.value)
    if isinstance(node, ast.Call | ast.Await | ast.Starred):
        return last_name(node.func if isinstance(node, ast.Call) else node.value)
    return ""


def is_history(node: ast.AST) -> bool:
    """Whether an expression is named like the messages of a conversation."""
    return HISTORY.fullmatch(last_name(node).lower().strip("_")) is not None


def observe(
    engine: Engine,
    node: ast.AST,
    kind: str,
    detail: str,
    *,
    sure: bool = True,
    position: Position = Position.HISTORY,
) -> Observation:
    """Return an observation at a node."""
    return Observation(
        kind=kind,
        source=engine.module.source,
        span=engine.module.span(node),
        detail=detail,
        evidence=Evidence.DATAFLOW if sure else Evidence.NAME,
        position=position,
    )


def short(engine: Engine, node: ast.AST, limit: int = 50) -> str:
    """Return a node as it is written, on one line and cut to a length."""
    flat = " ".join(engine.module.written(node).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
