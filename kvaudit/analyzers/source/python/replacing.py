"""Loops that put values into a text one after another: ``text = text.replace(mark, value)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvaudit.analyzers.source.python.code import last_name
from kvaudit.analyzers.source.python.engine import Frame
from kvaudit.analyzers.source.python.placing import literal
from kvaudit.analyzers.source.python.values import Value, text_of

MAX_MARKS = 40
"""Marks of one text that are put in; a longer table is none of a prompt's."""


def marks_put_in(
    frame: Frame, node: ast.For | ast.AsyncFor, source: Value
) -> Iterator[tuple[Value, Value]]:
    """Yield each mark and its value, where a loop over a dict does nothing but put them in."""
    fields = source.fields or {}
    over = isinstance(node.iter, ast.Call) and last_name(node.iter.func) == "items"
    pairs = isinstance(node.target, ast.Tuple) and len(node.target.elts) == 2
    if not over or not pairs or not 0 < len(fields) <= MAX_MARKS:
        return
    if all(_puts_in(statement) for statement in node.body):
        for mark, value in fields.items():
            if not mark.startswith("<"):
                yield text_of((literal(frame, node.target, mark),)), value


def _puts_in(statement: ast.stmt) -> bool:
    made = statement.value if isinstance(statement, ast.Assign) else None
    return isinstance(made, ast.Call) and last_name(made.func) == "replace" and len(made.args) == 2
