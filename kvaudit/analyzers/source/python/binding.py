"""Targets of assignments, loops and comprehensions."""

from __future__ import annotations

import ast
from dataclasses import replace

from kvaudit.analyzers.source.python.engine import Engine, Frame
from kvaudit.analyzers.source.python.evaluation import evaluate
from kvaudit.analyzers.source.python.placing import unknown
from kvaudit.analyzers.source.python.values import Value


def bind(engine: Engine, frame: Frame, target: ast.expr, value: Value) -> None:
    """Give a value to a target of an assignment, a loop or a comprehension."""
    if isinstance(target, ast.Name):
        frame.env[target.id] = value
    elif isinstance(target, ast.Attribute):
        frame.env[frame.module.dotted(target)] = value
    elif isinstance(target, ast.Starred):
        bind(engine, frame, target.value, value)
    elif isinstance(target, ast.Tuple | ast.List):
        items = value.items if value.items and len(value.items) == len(target.elts) else None
        for at, inner in enumerate(target.elts):
            bind(engine, frame, inner, items[at] if items else unknown(engine, frame, inner))
    elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        base = evaluate(engine, frame, target.value)
        if base.fields is not None and isinstance(target.slice.value, str):
            fields = {**base.fields, target.slice.value: value}
            bind(engine, frame, target.value, replace(base, fields=fields))
        elif base.items and isinstance(target.slice.value, int):
            at = target.slice.value
            if -len(base.items) <= at < len(base.items):
                items_ = list(base.items)
                items_[at] = value
                bind(engine, frame, target.value, replace(base, items=tuple(items_)))
