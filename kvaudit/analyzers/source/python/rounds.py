"""Rounds of a loop: which conditions hold in the last one only.

An agent that may use no more tools in its last step, or is told to answer now, sends one request
that differs, and nobody sends another behind it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kvaudit.analyzers.source.python.code import last_name

_LAST = re.compile(r"(is_|force_|on_)?(the_)?(last|final)(_\w+)?")
_BOUND = re.compile(r"(\w+_)?(max|maximum|limit|total|budget)(_\w+)?|n_(steps|rounds|turns)")


def is_last_round(test: ast.expr, loop: ast.AST) -> bool:
    """Whether a condition only tells the last round of a loop from all others."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return is_last_round(test.operand, loop)
    if isinstance(test, ast.Name | ast.Attribute):
        return _LAST.fullmatch(last_name(test).lower().strip("_")) is not None
    if not isinstance(test, ast.Compare) or len(test.comparators) != 1:
        return False
    counters = set(_counters(loop))
    sides = (test.left, test.comparators[0])
    return any(
        _names(one) & counters and not _names(other) & counters and _is_end(one, other)
        for one, other in (sides, sides[::-1])
    )


def _is_end(count: ast.expr, bound: ast.expr) -> bool:
    """Whether what a count is compared with is where it ends: a limit, or one before it."""
    if isinstance(bound, ast.BinOp) and isinstance(bound.op, ast.Sub):
        return not isinstance(bound.left, ast.Constant)
    ahead = isinstance(count, ast.BinOp) and isinstance(count.op, ast.Add)
    if ahead and not isinstance(bound, ast.Constant):
        return True
    return _BOUND.fullmatch(last_name(bound).lower().strip("_")) is not None


def _counters(loop: ast.AST) -> Iterator[str]:
    """Yield the names that count a loop's rounds."""
    if isinstance(loop, ast.For | ast.AsyncFor):
        yield from _names(loop.target)
    for node in ast.walk(loop):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub):
            yield last_name(node.target)


def _names(node: ast.AST) -> set[str]:
    return {last_name(n) for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute)}
