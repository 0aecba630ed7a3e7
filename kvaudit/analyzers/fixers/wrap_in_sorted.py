"""Puts ``sorted()`` around what has no order of its own: a set, a folder's entries.

Safe where the parts are joined to a text, so that they can be compared, and where every order
was as right as any other. Else two parts may be of kinds that cannot be sorted together.
"""

from __future__ import annotations

import ast

from kvaudit.analyzers.fixers._python import expression
from kvaudit.core.findings import Edit, Finding, Fix

_LISTINGS = {"listdir", "iterdir", "glob", "iglob", "rglob"}


def fix(finding: Finding) -> Fix | None:
    """Return the fix, where the finding points at a Python expression that can be wrapped."""
    seen = expression(finding)
    if seen is None:
        return None
    joined = _joined(seen.node)
    inner = joined if joined is not None else seen.node
    if not _unordered(inner):
        return None
    span = seen.span(inner)
    text = finding.source.text[span.start : span.end]
    edit = Edit(source=finding.source, span=span, replacement=f"sorted({text})")
    before = finding.source.text[max(0, span.start - 80) : span.start].rstrip()
    safe = joined is not None or before.endswith(".join(") or _lists_names(inner)
    return Fix(title="sort it", edits=[edit], safe=safe)


def _joined(node: ast.expr) -> ast.expr | None:
    """Return what a call of ``join`` puts together."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return None
    alone = node.func.attr == "join" and len(node.args) == 1 and not node.keywords
    return node.args[0] if alone else None


def _unordered(node: ast.expr) -> bool:
    if isinstance(node, ast.Set | ast.SetComp):
        return True
    return isinstance(node, ast.Call) and _called(node) in {"set", "frozenset", *_LISTINGS}


def _lists_names(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _called(node) in _LISTINGS


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""
