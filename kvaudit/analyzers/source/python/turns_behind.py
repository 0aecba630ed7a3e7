"""Which conversation stands behind a text that becomes the first message of one."""

from __future__ import annotations

import ast
import re

from kvaudit.analyzers.source.python.code import is_history
from kvaudit.analyzers.source.python.engine import Unit
from kvaudit.analyzers.source.python.messages import role_of
from kvaudit.analyzers.source.python.values import Part, Value
from kvaudit.core.document import VOLATILITY_OF, Evidence, Origin

_TEXT = ("content", "text", "parts")
_INDEX = re.compile(r"(\w+_)?sys(tem)?(_\w+)?")
"""Names of the place at which a conversation has its system text."""


def conversation_of(target: ast.expr) -> ast.expr | None:
    """Return the list of messages whose first one, or its text, a target is."""
    while isinstance(target, ast.Attribute | ast.Subscript):
        if isinstance(target, ast.Attribute):
            if target.attr not in _TEXT:
                return None
        elif _is_first(target.slice) and is_history(target.value):
            return target.value
        elif not isinstance(target.slice, ast.Constant) or target.slice.value not in (0, *_TEXT):
            return None
        target = target.value
    return None


def inserted_before(call: ast.Call) -> ast.expr | None:
    """Return the list of messages that a call puts something in front of."""
    inserts = isinstance(call.func, ast.Attribute) and call.func.attr == "insert"
    if inserts and len(call.args) == 2 and _is_first(call.args[0]):
        assert isinstance(call.func, ast.Attribute)
        return call.func.value if is_history(call.func.value) else None
    return None


def turns(unit: Unit, conversation: ast.expr) -> Value | None:
    """Return the messages of a conversation, of which only its name is known.

    None where a function itself writes all of them, or begins with what a user says: whoever sends
    the list tells of it then.
    """
    known = unit.env.get(unit.module.dotted(conversation))
    if known is not None and known.items:
        first = known.items[0]
        if not any(item.spread for item in known.items) or role_of(first) == "user":
            return None
    part = Part(
        source=unit.module.source,
        span=unit.module.span(conversation),
        expression=ast.unparse(conversation),
        origin=Origin.HISTORY,
        volatility=VOLATILITY_OF[Origin.HISTORY],
        evidence=Evidence.NAME,
    )
    return Value(parts=(part,), spread=True)


def _is_first(index: ast.expr) -> bool:
    if isinstance(index, ast.Name):
        return _INDEX.fullmatch(index.id.lower()) is not None
    return isinstance(index, ast.Constant) and index.value == 0
