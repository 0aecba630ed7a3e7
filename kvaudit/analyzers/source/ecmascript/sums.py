"""Operators: texts that are added, numbers that are computed, one value or another."""

from __future__ import annotations

from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.ecmascript import evaluate as values
from kvaudit.analyzers.source.ecmascript import pieces
from kvaudit.analyzers.source.ecmascript.engine import Engine, Frame
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import NOTHING, Shape, Value, richer, text_of
from kvaudit.core.document import Evidence, Origin

_RECORDED = frozenset((
    "updated", "created", "modified", "published", "started", "ended", "received", "sent", "last",
    "at", "since", "due",
))  # fmt: skip
"""Words in the name of a time that was written down when something happened."""
_OTHER_TRUTH = frozenset(("==", "===", "!=", "!==", "<", ">", "<=", ">=", "in", "instanceof"))


def binary(engine: Engine, frame: Frame, node: Node) -> Value:
    """Return what an operator makes of two expressions."""
    operator = node.get("operator")
    sign = frame.module.text(operator) if operator is not None else "+"
    left, right = node.get("left"), node.get("right")
    if left is None or right is None or sign in _OTHER_TRUTH:
        return NOTHING
    if sign == "+":
        return _sum(engine, frame, node)
    if sign == "&&":
        return values.evaluate(engine, right, frame)
    if sign in ("||", "??"):
        given = values.evaluate(engine, left, frame)
        recorded = not _RECORDED.isdisjoint(snake_case(frame.module.dotted(left)).split("_"))
        return _one_of(given, values.evaluate(engine, right, frame), recorded=recorded)
    return _computed(engine, frame, node, (left, right))


def _one_of(value: Value, instead: Value, *, recorded: bool) -> Value:
    """Return what is taken where a value may be missing.

    What is put in its place, such as an id that is made up or the locale of a request, says
    nothing of a value that was given. A clock does, unless for a time that a record holds: it is
    how a test gives another one.
    """
    sole = value.sole
    given = sole is not None and sole.evidence is Evidence.NAME
    moment = any(part.origin in (Origin.CLOCK, Origin.DATE) for part in instead.printed)
    changes = any(part.text is None for part in instead.printed)
    if moment and recorded and value.printed:
        return value
    return value if given and changes and not moment else richer(value, instead)


def _computed(engine: Engine, frame: Frame, node: Node, operands: tuple[Node, ...]) -> Value:
    """Return a number that is computed: it changes as the operand that changes most."""
    parts = [p for o in operands for p in values.evaluate(engine, o, frame).parts if p.text is None]
    sure = [p for p in parts if p.evidence is not Evidence.NAME]
    if not sure:
        return pieces.constant(frame, node)
    worst = max(sure, key=lambda part: part.volatility)
    return pieces.again(frame, node, Value(parts=(worst,)))


def _sum(engine: Engine, frame: Frame, node: Node) -> Value:
    """Return a chain of additions, which nests to the left as deep as it is long."""
    operands: list[Node] = []
    at: Node | None = node
    while at is not None and at.kind == "binary_expression":
        operator, right = at.get("operator"), at.get("right")
        if operator is None or frame.module.text(operator) != "+" or right is None:
            break
        operands.append(right)
        at = at.get("left")
    if at is not None:
        operands.append(at)
    operands.reverse()
    found = [(o, values.evaluate(engine, o, frame)) for o in operands]
    if not any(_is_text(o, v) for o, v in found):
        numeric = any(o.kind == "number" for o in operands)
        moments = any(v.shape is Shape.MOMENT for _, v in found)
        if numeric or moments:
            return _computed(engine, frame, node, tuple(operands))
    return text_of(part for o, v in found for part in pieces.placed(frame, o, v))


def _is_text(node: Node, value: Value) -> bool:
    return node.kind != "number" and (value.shape is Shape.TEXT or len(value.parts) > 1)
