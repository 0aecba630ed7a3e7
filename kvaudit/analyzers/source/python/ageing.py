"""Maps over the history whose result depends on how old a message is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvaudit.analyzers.source.python.code import is_history, last_name, nodes, observe, short
from kvaudit.analyzers.source.python.engine import Engine, Unit
from kvaudit.analyzers.source.python.masking import tests_age, written_anew_by_age
from kvaudit.analyzers.source.windows import changes_as_they_age
from kvaudit.core.document import Observation

_MAPS = (ast.ListComp, ast.GeneratorExp)


def aged(engine: Engine, unit: Unit) -> Iterator[Observation]:
    """Yield maps over the history whose result depends on how old a message is."""
    for node in nodes(engine, unit):
        if not isinstance(node, _MAPS) or len(node.generators) != 1:
            continue
        over = node.generators[0].iter
        counted = isinstance(over, ast.Call) and last_name(over.func) == "enumerate" and over.args
        rows = over.args[0] if isinstance(over, ast.Call) and counted else over
        if not is_history(rows) or not isinstance(node.elt, ast.IfExp):
            continue
        if tests_age(node.elt.test):
            detail = changes_as_they_age(short(engine, node.elt.test))
            yield observe(engine, node.elt, "history-trimmed-each-turn", detail)
    yield from _aged_in_a_loop(engine, unit)
    yield from written_anew_by_age(engine, unit)


def _aged_in_a_loop(engine: Engine, unit: Unit) -> Iterator[Observation]:
    for node in nodes(engine, unit):
        if not isinstance(node, ast.For):
            continue
        rows = node.iter
        if isinstance(rows, ast.Call) and last_name(rows.func) == "enumerate" and rows.args:
            rows = rows.args[0]
        old = isinstance(rows, ast.Subscript) and isinstance(rows.slice, ast.Slice)
        if not is_history(rows):
            continue
        for inner in ast.walk(node):
            if not isinstance(inner, ast.Assign) or not _sets_content(inner, node.target):
                continue
            aged = (old and _leaves_newest(rows)) or any(
                isinstance(branch, ast.If) and tests_age(branch.test) and inner in ast.walk(branch)
                for branch in ast.walk(node)
            )
            if aged:
                detail = f"{short(engine, inner)} changes earlier messages as they grow old"
                yield observe(engine, inner, "history-trimmed-each-turn", detail)


def _leaves_newest(rows: ast.expr) -> bool:
    if not isinstance(rows, ast.Subscript) or not isinstance(rows.slice, ast.Slice):
        return False
    upper = rows.slice.upper
    return isinstance(upper, ast.UnaryOp) and isinstance(upper.op, ast.USub)


def _sets_content(node: ast.Assign, row: ast.expr) -> bool:
    names = {inner.id for inner in ast.walk(row) if isinstance(inner, ast.Name)}
    return any(
        last_name(target) in ("content", "text")
        and any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(target))
        for target in node.targets
    )
