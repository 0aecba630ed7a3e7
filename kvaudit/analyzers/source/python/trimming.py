"""Windows over the history that are sent: its start moves on every turn."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

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
from kvaudit.analyzers.source.python.messages import has_roles
from kvaudit.analyzers.source.python.parameters import named_parameters
from kvaudit.analyzers.source.python.sinks import NO_SINK
from kvaudit.analyzers.source.windows import MIN_KEPT, moves_the_start
from kvaudit.core.document import Observation


def trimmed(engine: Engine, unit: Unit) -> Iterator[Observation]:
    """Yield windows over the history that reach a model: the start moves on every turn."""
    if ONE_SHOT.search(unit.name):
        return
    for node in nodes(engine, unit):
        if type(node) is ast.Subscript and _is_window(node) and is_history(node.value):
            if _is_asked_for(node, unit):
                continue
            above = parents(engine, unit)
            if not is_sent(node, sent_expressions(unit), above) or _has_hysteresis(node, above):
                continue
            detail = moves_the_start(short(engine, node))
            yield observe(engine, node, "history-trimmed-each-turn", detail)


def _is_asked_for(node: ast.Subscript, unit: Unit) -> bool:
    """Whether the caller of a getter says how many messages it wants: ``get_recent(n)``."""
    if unit.node is None:
        return False
    kept = _kept(node)
    given = {arg.arg for arg in named_parameters(unit.node.args)}
    returned = any(node is inner for value, _ in unit.returns for inner in _one_of(value))
    return returned and isinstance(kept, ast.Name) and kept.id in given


def _one_of(node: ast.expr) -> tuple[ast.expr, ...]:
    """Return the values that an expression may have: ``a if a else b``."""
    return (node.body, node.orelse) if isinstance(node, ast.IfExp) else (node,)


def sent_expressions(unit: Unit) -> list[ast.expr]:
    """Return the expressions that a function sends as messages, or returns as such."""
    sent: list[ast.expr] = []
    for seen in unit.seen:
        sent += [k.value for k in seen.node.keywords if k.arg in ("messages", "contents")]
        if any(has_roles(value) for value in seen.args) and not NO_SINK.fullmatch(seen.dotted):
            sent += seen.node.args
    if re.match(
        r"^_*(build|make|prepare|get|assemble|to|all)_(\w+_)?(messages|prompt)$",
        unit.name,
    ):
        sent += [node for node, _ in unit.returns if not isinstance(node, ast.Call)]
    return [*sent, *_joined_to(unit, sent)]


def _joined_to(unit: Unit, sent: Sequence[ast.expr]) -> Iterator[ast.expr]:
    """Yield the lists that a function joins to those it sends: ``messages += recent``."""
    names = {node.id for node in sent if isinstance(node, ast.Name)}
    for node in unit.nodes:
        into: ast.expr | None = None
        if isinstance(node, ast.AugAssign):
            into, value = node.target, node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            into, value = node.func.value, node.args[0]
        if isinstance(into, ast.Name) and into.id in names and isinstance(value, ast.Name):
            yield value


def _kept(node: ast.Subscript) -> ast.expr | None:
    """Return how much of the end a slice keeps; None where it is no window."""
    cut = node.slice
    if not isinstance(cut, ast.Slice) or cut.upper is not None or cut.step is not None:
        return None
    return _below_the_end(cut.lower, ast.unparse(node.value))


def _below_the_end(lower: ast.expr | None, rows: str) -> ast.expr | None:
    """Return how far in front of the end a bound lies: ``-n``, ``-1 * n``, ``len(rows) - n``."""
    if isinstance(lower, ast.UnaryOp) and isinstance(lower.op, ast.USub):
        return lower.operand
    if isinstance(lower, ast.Call) and last_name(lower.func) == "max":
        bounds = (_below_the_end(arg, rows) for arg in lower.args)
        return next((bound for bound in bounds if bound is not None), None)
    if not isinstance(lower, ast.BinOp):
        return None
    if isinstance(lower.op, ast.Sub):
        return lower.right if ast.unparse(lower.left) == f"len({rows})" else None
    if isinstance(lower.op, ast.Mult) and ast.unparse(lower.left) == "-1":
        return lower.right
    return _below_the_end(lower.left, rows) if isinstance(lower.op, ast.Mult) else None


def _is_window(node: ast.Subscript) -> bool:
    kept = _kept(node)
    if isinstance(kept, ast.Constant):
        return isinstance(kept.value, int) and kept.value >= MIN_KEPT
    return isinstance(kept, ast.Name | ast.Attribute | ast.BinOp)


def is_sent(node: ast.AST, sent: Sequence[ast.expr], above: dict[ast.AST, ast.AST]) -> bool:
    """Whether a window stands in what is sent, or in the value of a name that is."""
    inside = {inner for expression in sent for inner in ast.walk(expression)}
    if node in inside:
        return True
    names = {ast.dump(n) for n in inside if isinstance(n, ast.Name | ast.Attribute)}
    names = {name.replace("Store()", "Load()") for name in names}
    at: ast.AST | None = node
    while at is not None and not isinstance(at, ast.stmt):
        at = above.get(at)
    if isinstance(at, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = at.targets if isinstance(at, ast.Assign) else [at.target]
        return any(ast.dump(t).replace("Store()", "Load()") in names for t in targets)
    if isinstance(at, ast.For):
        return bool(names) and at.iter is node
    return isinstance(at, ast.Expr) and any(
        ast.dump(n) in names for n in ast.walk(at) if isinstance(n, ast.Name)
    )


def _has_hysteresis(node: ast.Subscript, above: dict[ast.AST, ast.AST]) -> bool:
    """Whether the cut is deep and rare: it starts well above what it leaves."""
    kept = _kept(node)
    at: ast.AST | None = node
    while at is not None:
        at = above.get(at)
        if isinstance(at, ast.ExceptHandler):
            return True  # what a request that was refused is cut to
        if not isinstance(at, ast.If) or is_history(at.test):
            continue
        numbers = [n.value for n in ast.walk(at.test) if isinstance(n, ast.Constant)]
        if isinstance(kept, ast.Constant) and isinstance(kept.value, int):
            if any(isinstance(n, int) and n >= kept.value * 1.5 for n in numbers):
                return True
            if not numbers:
                return True
        elif kept is not None and ast.dump(kept) not in ast.dump(at.test):
            return True
    return False
