"""The way into expressions, whatever kind they are."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import cache

from kvaudit.analyzers.source.python.engine import Engine, Frame
from kvaudit.analyzers.source.python.values import NOTHING, Value


def evaluate(engine: Engine, frame: Frame, node: ast.expr | None) -> Value:
    """Return what is known of an expression."""
    if node is None or not engine.spend():
        return NOTHING
    handler = _handlers().get(type(node))
    return NOTHING if handler is None else handler(engine, frame, node)


@cache
def _handlers() -> Mapping[type, Callable[..., Value]]:
    """Return who follows which kind of node; each of them comes back here for what is inside."""
    from kvaudit.analyzers.source.python.expressions import HANDLERS

    return HANDLERS
