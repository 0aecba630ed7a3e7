"""Histories that are cut to a budget on every turn: the oldest goes first."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from kvaudit.analyzers.source.python.code import (
    ONE_SHOT,
    is_history,
    last_name,
    nodes,
    observe,
    parents,
    short,
)
from kvaudit.analyzers.source.python.engine import Engine, Unit
from kvaudit.analyzers.source.python.parameters import named_parameters
from kvaudit.analyzers.source.python.trimming import sent_expressions
from kvaudit.analyzers.source.windows import MEASURES, MIN_KEPT, drops_the_oldest
from kvaudit.core.document import Observation

_ORDERED = (ast.Gt, ast.GtE, ast.Lt, ast.LtE)
_FRONT = (0, 1)
"""Places that the oldest message has: the first, or the one behind the system text."""
_NUMBERED = ("enumerate", "list")
_OF_TURNS = re.compile(
    r"((chat|message|msg|conversation|dialog(ue)?|full|llm|agent|user|session|context|prompt)_)?"
    r"(history|hist)|(\w+_)?(messages|msgs|conversation|turns|transcript|dialog(ue)?|chat(_log)?)"
)
"""Names of what is said; a price, an action and a mood have a history as well."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """A statement that takes from the front of a list what a budget does not allow."""

    place: ast.expr
    kept: ast.expr
    """The list of what is left."""
    limit: frozenset[str]
    """Names and numbers it is held against."""


def cut_to_budget(engine: Engine, unit: Unit) -> Iterator[Observation]:
    """Yield loops that leave as much of the end of a history as a budget allows.

    Once a conversation has reached it, each turn takes from the front what it adds at the end.
    A loop that runs only where another, higher limit was passed cuts rarely, and is none.
    """
    if ONE_SHOT.search(unit.name):
        return
    for node in nodes(engine, unit):
        cut = _cut(node)
        if cut is None or not _is_of_history(engine, unit, cut.kept):
            continue
        if not _goes_out(unit, cut.kept) or _is_rare(engine, unit, node, cut):
            continue
        if not _holds_turns(engine, cut.kept):
            continue
        detail = drops_the_oldest(short(engine, cut.place))
        yield observe(engine, cut.place, "history-trimmed-each-turn", detail)


def _cut(node: ast.AST) -> _Cut | None:
    if isinstance(node, ast.While | ast.If):
        kept, limit = _dropped(node.body), _limit(node.test, node)
        return _Cut(node.test, kept, limit) if kept is not None and limit else None
    if not isinstance(node, ast.For) or not _is_newest_first(node.iter):
        return None
    for branch in (n for n in ast.walk(node) if isinstance(n, ast.If)):
        if any(isinstance(last, ast.Break) for last in (*branch.body[-1:], *branch.orelse[-1:])):
            kept, limit = _gathered(node), _limit(branch.test, node)
            if kept is not None and limit:
                return _Cut(branch.test, kept, limit)
    return None


def _dropped(body: list[ast.stmt]) -> ast.expr | None:
    """Return the list whose oldest element a statement of a body takes away."""
    for statement in body:
        if isinstance(statement, ast.Delete):
            gone = statement.targets[0]
            if isinstance(gone, ast.Subscript) and _is_front(gone.slice):
                return gone.value
        value = getattr(statement, "value", None)
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
            continue
        first = bool(value.args) and _is_front(value.args[0])
        if value.func.attr == "popleft" or (value.func.attr == "pop" and first):
            return value.func.value
    return None


def _is_front(index: ast.expr) -> bool:
    return isinstance(index, ast.Constant) and index.value in _FRONT


def _is_newest_first(rows: ast.expr) -> bool:
    """Whether a loop runs over a history from its end: ``reversed(messages)``."""
    rows = _bare(rows)
    if isinstance(rows, ast.Call) and last_name(rows.func) == "reversed" and rows.args:
        inner = _bare(rows.args[0])
        if isinstance(inner, ast.Call) and last_name(inner.func) == "range" and inner.args:
            inner = inner.args[-1]
            return isinstance(inner, ast.Call) and bool(inner.args) and is_history(inner.args[0])
        return is_history(inner)
    if isinstance(rows, ast.Subscript) and isinstance(rows.slice, ast.Slice):
        step = rows.slice.step
        return step is not None and ast.unparse(step) == "-1" and is_history(rows.value)
    if isinstance(rows, ast.Call) and last_name(rows.func) == "range" and len(rows.args) == 3:
        counted = [n for n in ast.walk(rows.args[0]) if isinstance(n, ast.Call) and n.args]
        return ast.unparse(rows.args[2]) == "-1" and any(is_history(n.args[0]) for n in counted)
    return False


def _bare(rows: ast.expr) -> ast.expr:
    """Return what a loop runs over, without what only numbers or copies it."""
    while isinstance(rows, ast.Call) and last_name(rows.func) in _NUMBERED and rows.args:
        rows = rows.args[0]
    return rows


def _gathered(loop: ast.For) -> ast.expr | None:
    """Return the list that a loop puts messages into."""
    for node in ast.walk(loop):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        in_front = node.func.attr == "insert" and bool(node.args) and _is_front(node.args[0])
        if in_front or node.func.attr in ("append", "appendleft"):
            return node.func.value
    return None


def _limit(test: ast.expr, loop: ast.AST) -> frozenset[str]:
    """Return what a loop's measure is compared with; empty where it measures nothing."""
    found: set[str] = set()
    changed = {
        ast.unparse(target)
        for node in ast.walk(loop)
        for target in _targets(node)
    }  # fmt: skip
    for compared in (n for n in ast.walk(test) if isinstance(n, ast.Compare)):
        if not isinstance(compared.ops[0], _ORDERED) or not MEASURES.search(ast.unparse(compared)):
            continue
        terms = set(_terms(compared))
        found |= terms - changed or terms or {ast.unparse(compared)}
    return frozenset() if _is_small(test) else frozenset(found)


def _is_small(test: ast.expr) -> bool:
    """Whether so few messages are kept that nobody goes on with the history."""
    return any(
        isinstance(side, ast.Constant) and isinstance(side.value, int) and side.value < MIN_KEPT
        for compared in ast.walk(test)
        if isinstance(compared, ast.Compare) and isinstance(compared.ops[0], _ORDERED)
        for side in (compared.left, *compared.comparators)
    )


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Assign):
        yield from node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        yield node.target


def _terms(node: ast.AST) -> Iterator[str]:
    """Yield the names and numbers of an expression, without those of calls."""
    if isinstance(node, ast.Call):
        return
    if isinstance(node, ast.Name | ast.Attribute):
        yield ast.unparse(node)
    elif isinstance(node, ast.Constant):
        yield str(node.value)
    else:
        for inner in ast.iter_child_nodes(node):
            yield from _terms(inner)


def _is_of_history(engine: Engine, unit: Unit, kept: ast.expr) -> bool:
    """Whether a list is a history, a copy of one, or gathered from one."""
    if is_history(kept):
        return True
    name = ast.unparse(kept)
    for node in nodes(engine, unit):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            from_one = any(is_history(n) for n in ast.walk(node.value) if isinstance(n, ast.expr))
            if from_one and name in map(ast.unparse, _targets(node)):
                return True
        elif isinstance(node, ast.For) and _is_newest_first(node.iter):
            gathered = _gathered(node)
            if gathered is not None and ast.unparse(gathered) == name:
                return True
    return False


def _holds_turns(engine: Engine, kept: ast.expr) -> bool:
    """Whether a list that an object keeps is a conversation, and no other thing that has a past.

    Its name says so, or the file gives what is put into it a role, or sends it.
    """
    name = last_name(kept).lower().strip("_")
    if not isinstance(kept, ast.Attribute) or _OF_TURNS.fullmatch(name):
        return True
    written = re.escape(ast.unparse(kept))
    shown = rf"{written}\.(append|extend|insert)\([^\n]{{0,20}}\s*(\{{\s*[\"']role|\w*Message\b)"
    sent = rf"(messages|contents|history|chat_history|input)\s*=\s*(\w+\(|\[\*)?{written}\b"
    return re.search(f"{shown}|{sent}", engine.module.source.text) is not None


def _goes_out(unit: Unit, kept: ast.expr) -> bool:
    """Whether a list is sent, returned, or belongs to somebody else who goes on with it."""
    name = ast.unparse(kept)
    if isinstance(kept, ast.Attribute) or _is_parameter(unit, name):
        return True
    out = [*sent_expressions(unit), *(node for node, _ in unit.returns), *_stored(unit)]
    return any(
        isinstance(node, ast.Name) and node.id == name
        for expression in out
        for node in ast.walk(expression)
    )


def _stored(unit: Unit) -> Iterator[ast.expr]:
    """Yield what a function puts in the place of somebody else's history."""
    for node in unit.nodes:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if (
            isinstance(node, ast.Assign)
            and isinstance(target, ast.Attribute)
            and is_history(target)
        ):
            yield node.value


def _is_parameter(unit: Unit, name: str) -> bool:
    return unit.node is not None and name in {arg.arg for arg in named_parameters(unit.node.args)}


def _is_rare(engine: Engine, unit: Unit, node: ast.AST, cut: _Cut) -> bool:
    """Whether a cut is made after an error, or only where another limit is passed too."""
    above = parents(engine, unit)
    at: ast.AST | None = above.get(node)
    while at is not None:
        if isinstance(at, ast.ExceptHandler):
            return True
        if isinstance(at, ast.If) and _is_other(_limit(at.test, node), cut.limit):
            return True
        at = above.get(at)
    return any(
        isinstance(early, ast.If)
        and any(isinstance(last, ast.Return) for last in early.body[-1:])
        and _is_other(_limit(early.test, node), cut.limit)
        for early in nodes(engine, unit)
    )


def _is_other(limit: frozenset[str], other: frozenset[str]) -> bool:
    return bool(limit) and limit != other
