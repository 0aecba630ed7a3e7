"""Clocks that stand in a key on purpose: cut to a period, or where the cache is to be missed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from kvaudit.analyzers.keys.scopes import Scope, walk
from kvaudit.core.document import Observation

_BUCKETS = frozenset(("strftime", "date", "isocalendar", "toordinal"))


def is_bucket(scope: Scope, one: Observation) -> bool:
    """Whether a clock is cut, as to hours, so that a key may live as long on purpose."""
    clock = scope.at(one.span)
    names = set(scope.holders(clock)) if clock is not None else set()
    return any(
        inner is clock or getattr(inner, "id", None) in names
        for node in scope.nodes
        for cut in _cut(scope, node)
        for inner in walk(scope.module, cut)
    )


def _cut(scope: Scope, node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is divided, given another form, or asked for its day."""
    if isinstance(node, ast.BinOp):
        yield from [node] if isinstance(node.op, ast.FloorDiv | ast.Mod | ast.Div) else []
    elif isinstance(node, ast.Call):
        yield from [node] if getattr(node.func, "attr", "") in _BUCKETS else []
    elif isinstance(node, ast.JoinedStr):
        fields = [piece for piece in scope.module.formatted(node) if isinstance(piece, ast.expr)]
        values = (value for value in node.values if isinstance(value, ast.FormattedValue))
        yield from (f for f, v in zip(fields, values, strict=False) if v.format_spec is not None)


def is_bypass(scope: Scope, one: Observation) -> bool:
    """Whether a clock is put in on one of two ways only, where the cache is to be missed."""
    clock = scope.at(one.span)
    for node in scope.nodes:
        if isinstance(node, ast.If) and node.orelse:
            for way, other in ((node.body, node.orelse), (node.orelse, node.body)):
                held = any(one is clock for one in _within(scope, way))
                if held and _set_in(scope, way) & _set_in(scope, other):
                    return True
    return False


def _within(scope: Scope, body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    for statement in body:
        yield from walk(scope.module, statement)


def _set_in(scope: Scope, body: Sequence[ast.stmt]) -> set[str]:
    names = (node for node in _within(scope, body) if isinstance(node, ast.Name))
    return {node.id for node in names if isinstance(node.ctx, ast.Store)}
