"""System texts that are put into a conversation as it stands: ``messages[0]["content"] = text``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvaudit.analyzers.source.python.code import is_history
from kvaudit.analyzers.source.python.engine import Engine, Filled, Unit
from kvaudit.analyzers.source.python.messages import content_of, role_of
from kvaudit.analyzers.source.python.sinks import Draft, Entry, blocks
from kvaudit.analyzers.source.python.values import Part, Value
from kvaudit.core.document import VOLATILITY_OF, Evidence, Origin, Position

_TEXT = ("content", "text", "parts")


def conversation_of(target: ast.expr) -> ast.expr | None:
    """Return the list of messages whose first one, or its text, a target is."""
    while isinstance(target, ast.Attribute | ast.Subscript):
        if isinstance(target, ast.Attribute):
            if target.attr not in _TEXT:
                return None
        elif not isinstance(target.slice, ast.Constant):
            return None
        elif target.slice.value == 0 and is_history(target.value):
            return target.value
        elif target.slice.value not in (0, *_TEXT):
            return None
        target = target.value
    return None


def put_first(engine: Engine, unit: Unit, text: Filled) -> Iterator[Draft]:
    """Yield the prompt that a first message begins, with the conversation behind it."""
    if text.into is None:
        return
    role = role_of(text.value)
    if role not in (None, "system"):
        return
    content = text.value if role is None else content_of(text.value)
    turns = Part(
        source=engine.module.source,
        span=engine.module.span(text.into),
        expression=ast.unparse(text.into),
        origin=Origin.HISTORY,
        volatility=VOLATILITY_OF[Origin.HISTORY],
        evidence=Evidence.NAME,
    )
    entries = [
        *blocks(Position.SYSTEM, content),
        Entry(Position.HISTORY, Value(parts=(turns,), spread=True)),
    ]
    yield Draft("first message", unit, entries, loops=text.loops, sent=True)
