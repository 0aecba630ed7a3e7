"""Loops that copy a history and put something else in the place of what has grown old."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvaudit.analyzers.source.python.code import is_history, last_name, nodes, observe, short
from kvaudit.analyzers.source.python.engine import Engine, Unit
from kvaudit.core.document import Observation

_EVENTS = ("events", "steps", "entries", "items")
"""What the turns of an agent are called besides, where a loop shows that it ages them."""


def written_anew_by_age(engine: Engine, unit: Unit) -> Iterator[Observation]:
    """Yield conditions on the age of a message under which a copy gets another one instead."""
    for loop in nodes(engine, unit):
        index, row = _counted(loop)
        if not isinstance(loop, ast.For) or index is None or row is None:
            continue
        for branch in ast.walk(loop):
            if not isinstance(branch, ast.If) or not _replaces(branch, row):
                continue
            by_set = _asks_a_set(branch.test, index)
            if tests_age(branch.test) or by_set:
                seen = not by_set or _leaves_the_newest(unit)
                detail = f"{short(engine, branch.test)} puts another message in place of an old one"
                yield observe(engine, branch.test, "history-trimmed-each-turn", detail, sure=seen)


def tests_age(test: ast.expr) -> bool:
    """Whether a test compares a distance: the newest index minus that of a message."""
    return any(
        isinstance(side, ast.BinOp) and isinstance(side.op, ast.Sub)
        for node in ast.walk(test)
        if isinstance(node, ast.Compare)
        for side in (node.left, *node.comparators)
    )


def _counted(loop: ast.AST) -> tuple[str | None, str | None]:
    """Return the names of the index and the message in a loop over a counted history."""
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
        return None, None
    given, target = loop.iter.args, loop.target
    if last_name(loop.iter.func) != "enumerate" or not given or not isinstance(target, ast.Tuple):
        return None, None
    named = is_history(given[0]) or last_name(given[0]) in _EVENTS
    names = [name.id for name in target.elts if isinstance(name, ast.Name)]
    return (names[0], names[1]) if named and len(names) == 2 else (None, None)


def _replaces(branch: ast.If, row: str) -> bool:
    """Whether one side of a branch keeps a message, and the other adds something else."""
    sides = [_added(branch.body), _added(branch.orelse)]
    if not all(sides):
        return False
    (one, what), (other, instead) = sides[0][-1], sides[1][-1]
    keeps = [isinstance(kept, ast.Name) and kept.id == row for kept in (what, instead)]
    return one == other and sorted(keeps) == [False, True]


def _added(body: list[ast.stmt]) -> list[tuple[str, ast.expr]]:
    """Return the lists that statements append to, and what."""
    return [
        (ast.dump(node.func.value), node.args[0])
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "append"
        and len(node.args) == 1
    ]


def _asks_a_set(test: ast.expr, index: str) -> bool:
    """Whether a test asks for a message's index in a collection that was worked out before."""
    return any(
        isinstance(node, ast.Compare)
        and isinstance(node.ops[0], ast.In | ast.NotIn)
        and isinstance(node.left, ast.Name)
        and node.left.id == index
        and isinstance(node.comparators[0], ast.Name | ast.Attribute)
        for node in ast.walk(test)
    )


def _leaves_the_newest(unit: Unit) -> bool:
    """Whether the function, or its class, takes all but the newest of something: ``found[:-n]``."""
    within = unit.owner or unit.node
    return within is not None and any(
        isinstance(node, ast.Slice)
        and node.lower is None
        and isinstance(node.upper, ast.UnaryOp)
        and isinstance(node.upper.op, ast.USub)
        for node in ast.walk(within)
    )
