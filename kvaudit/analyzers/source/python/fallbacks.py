"""Random values that are made only where none was given, such as the id of a new session.

Whoever goes on with a conversation gives the one that it began with. A clock is no such value: who
is given no time asks for the present one each time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from kvaudit.analyzers.source.python.engine import Frame, Phase, aged
from kvaudit.analyzers.source.python.values import Part, Value, changed
from kvaudit.core.document import Origin


def unless_given(value: Value) -> Value:
    """Return what stands for a value that was not given: what is random lasts a session."""
    if not _is_random(value):
        return value

    def kept(part: Part) -> tuple[Part, ...]:
        if part.origin is not Origin.RANDOM:
            return (part,)
        return aged(Value(parts=(part,)), Phase.SESSION).parts

    return changed(value, kept)


def one_or_other(one: Value, other: Value) -> tuple[Value, Value]:
    """Return both values of a condition; a random one is made where the other was not given."""
    return (
        unless_given(one) if _is_given(other) else one,
        unless_given(other) if _is_given(one) else other,
    )


def keep_given(frame: Frame, before: Mapping[str, Value], names: Iterable[str]) -> None:
    """Let names that got a random value in place of what they stood for last a session."""
    for name in names:
        stood, value = before.get(name), frame.env.get(name)
        if value is not None and stood is not None and stood is not value and _is_given(stood):
            frame.env[name] = unless_given(value)


def asked_for(test: ast.expr) -> ast.expr | None:
    """Return what a condition finds missing: ``x is None``, ``not x``."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Is):
        return test.left
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return None


def _is_random(value: Value) -> bool:
    return any(part.origin is Origin.RANDOM for part in value.printed)


def _is_given(value: Value) -> bool:
    return bool(value.parts) and not any(
        part.text is not None or part.origin is Origin.RANDOM for part in value.parts
    )
