"""Operators between two values: sums of texts and lists, formats, sets without others."""

from __future__ import annotations

import ast
from dataclasses import replace

from kvaudit.analyzers.sizes import MAX_REPEATS, estimate_tokens
from kvaudit.analyzers.source.python.engine import Engine, Frame
from kvaudit.analyzers.source.python.evaluation import evaluate
from kvaudit.analyzers.source.python.placing import placed
from kvaudit.analyzers.source.python.sequences import as_items, set_of
from kvaudit.analyzers.source.python.templates import percent
from kvaudit.analyzers.source.python.values import Shape, Value, list_of, richer, text_of


def binary(engine: Engine, frame: Frame, node: ast.BinOp) -> Value:
    """Return what an operator makes of two values."""
    if isinstance(node.op, ast.Add):
        return _sum(engine, frame, node)
    left = evaluate(engine, frame, node.left)
    right = evaluate(engine, frame, node.right)
    if isinstance(node.op, ast.Mod) and (left.shape is Shape.TEXT or _is_text(node.left)):
        return percent(engine, frame, node, left, right)
    if isinstance(node.op, ast.BitOr) and Shape.PROMPT in (left.shape, right.shape):
        return left if left.shape is Shape.PROMPT else right  # a chain that begins with it
    if isinstance(node.op, ast.Sub | ast.BitOr | ast.BitAnd) and Shape.SET in (
        left.shape,
        right.shape,
    ):
        return set_of(frame, node, left)
    if isinstance(node.op, ast.BitOr) and (left.fields is not None or right.fields is not None):
        return Value(fields={**(left.fields or {}), **(right.fields or {})}, shape=Shape.FIELDS)
    if isinstance(node.op, ast.Mult) and Shape.TEXT in (left.shape, right.shape):
        text, times = (left, right) if left.shape is Shape.TEXT else (right, left)
        return _repeated(text, times.literal)
    # Differences of clocks and rounded clocks are clocks still.
    return left if left.shape is Shape.MOMENT else replace(richer(left, right), items=None)


def _repeated(value: Value, times: object) -> Value:
    """Return a text written several times over; only its size differs from the text's own."""
    if value.text is None or not isinstance(times, int) or times < 1:
        return value
    tokens = estimate_tokens(value.text) * min(times, MAX_REPEATS)
    return replace(value, parts=tuple(replace(part, tokens=tokens) for part in value.parts[:1]))


def _sum(engine: Engine, frame: Frame, node: ast.BinOp) -> Value:
    """Follow a sum from its leftmost term: sums of a thousand strings are long, not deep."""
    terms: list[ast.expr] = []
    rest: ast.expr = node
    while isinstance(rest, ast.BinOp) and isinstance(rest.op, ast.Add):
        terms.append(rest.right)
        rest = rest.left
    terms.append(rest)
    total = evaluate(engine, frame, terms[-1])
    first = terms.pop()
    for term in reversed(terms):
        total = plus(frame, first, total, term, evaluate(engine, frame, term))
    return total


def plus(frame: Frame, left: ast.expr, one: Value, right: ast.expr, other: Value) -> Value:
    """Return the sum of two values, as text or as lists."""
    if one.items is not None or other.items is not None:
        return list_of((*as_items(one), *as_items(other)), one.hazards + other.hazards)
    if one.shape is Shape.MOMENT:
        return one
    return text_of((*placed(frame, left, one), *placed(frame, right, other)))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
