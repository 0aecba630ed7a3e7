"""Expressions: what text they print as, and where its parts come from."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from kvaudit.analyzers.source.python.access import attribute, known_name, subscript
from kvaudit.analyzers.source.python.binding import bind
from kvaudit.analyzers.source.python.calls import call
from kvaudit.analyzers.source.python.engine import Engine, Frame
from kvaudit.analyzers.source.python.evaluation import evaluate
from kvaudit.analyzers.source.python.fallbacks import one_or_other, unless_given
from kvaudit.analyzers.source.python.moments import at_precision
from kvaudit.analyzers.source.python.placing import literal, placed, printed_object
from kvaudit.analyzers.source.python.sequences import (
    as_items,
    comprehension,
    dict_comprehension,
    dict_literal,
    sequence,
    set_literal,
)
from kvaudit.analyzers.source.python.sums import binary
from kvaudit.analyzers.source.python.values import (
    NOTHING,
    Code,
    Part,
    Shape,
    Value,
    richer,
    text_of,
)
from kvaudit.core.sources import Span


def _constant(engine: Engine, frame: Frame, node: ast.Constant) -> Value:
    if isinstance(node.value, str):
        return text_of((literal(frame, node, node.value),) if node.value else ())
    return Value(literal=node.value)


def _joined(engine: Engine, frame: Frame, node: ast.JoinedStr) -> Value:
    parts: list[Part] = []
    pieces = frame.module.formatted(node)
    fields = iter([piece for piece in pieces if not isinstance(piece, Span)])
    runs = iter([piece for piece in pieces if isinstance(piece, Span)])
    for given in node.values:
        if isinstance(given, ast.Constant):
            parts.append(literal(frame, node, str(given.value), next(runs, None)))
        elif isinstance(given, ast.FormattedValue):
            inner = next(fields, given.value)
            value = evaluate(engine, frame, inner)
            if isinstance(given.format_spec, ast.JoinedStr):
                value = _formatted(value, given.format_spec)
            parts += placed(frame, inner, printed_object(frame, inner, value))
    return text_of(parts)


def _formatted(value: Value, spec: ast.JoinedStr) -> Value:
    written = "".join(str(v.value) for v in spec.values if isinstance(v, ast.Constant))
    return at_precision(value, written) if "%" in written else value


def _conditional(engine: Engine, frame: Frame, node: ast.IfExp) -> Value:
    body, orelse = evaluate(engine, frame, node.body), evaluate(engine, frame, node.orelse)
    if isinstance(node.test, ast.Name) and node.test.id in frame.switches:
        return body if frame.switches[node.test.id] else orelse
    return richer(*one_or_other(body, orelse))


def _either(engine: Engine, frame: Frame, node: ast.BoolOp) -> Value:
    values = [evaluate(engine, frame, value) for value in node.values]
    if isinstance(node.op, ast.And):
        return values[-1]
    found = values[0]
    for value in values[1:]:
        found = richer(found, unless_given(value))
    return found


def _lambda(engine: Engine, frame: Frame, node: ast.Lambda) -> Value:
    return Value(
        shape=Shape.CODE,
        code=Code(frame.module, node, frame.owner, {**(frame.closure or {}), **frame.env}),
    )


def _await(engine: Engine, frame: Frame, node: ast.Await) -> Value:
    return evaluate(engine, frame, node.value)


def _walrus(engine: Engine, frame: Frame, node: ast.NamedExpr) -> Value:
    value = evaluate(engine, frame, node.value)
    bind(engine, frame, node.target, value)
    return value


def _yield(engine: Engine, frame: Frame, node: ast.Yield | ast.YieldFrom) -> Value:
    value = evaluate(engine, frame, node.value)
    frame.yielded += as_items(value) if isinstance(node, ast.YieldFrom) else (value,)
    return NOTHING


def _compare(engine: Engine, frame: Frame, node: ast.Compare | ast.UnaryOp) -> Value:
    inner = [node.left, *node.comparators] if isinstance(node, ast.Compare) else [node.operand]
    values = [evaluate(engine, frame, item) for item in inner]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = values[0].literal
        return Value(literal=-number if isinstance(number, int | float) else None)
    return NOTHING


def _starred(engine: Engine, frame: Frame, node: ast.Starred) -> Value:
    return replace(evaluate(engine, frame, node.value), spread=True)


HANDLERS: dict[type, Callable[..., Value]] = {
    ast.Constant: _constant,
    ast.JoinedStr: _joined,
    ast.BinOp: binary,
    ast.Name: known_name,
    ast.Attribute: attribute,
    ast.Subscript: subscript,
    ast.IfExp: _conditional,
    ast.BoolOp: _either,
    ast.List: sequence,
    ast.Tuple: sequence,
    ast.Set: set_literal,
    ast.Dict: dict_literal,
    ast.ListComp: comprehension,
    ast.GeneratorExp: comprehension,
    ast.SetComp: comprehension,
    ast.DictComp: dict_comprehension,
    ast.Lambda: _lambda,
    ast.Await: _await,
    ast.NamedExpr: _walrus,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
    ast.Compare: _compare,
    ast.UnaryOp: _compare,
    ast.Starred: _starred,
    ast.Call: call,
}
