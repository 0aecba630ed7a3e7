"""Adds ``sort_keys=True`` to a call of ``json.dumps``.

Not safe: the text of the first request changes where its keys did not stand in order, and keys of
different kinds cannot be sorted.
"""

from __future__ import annotations

import ast

from kvaudit.analyzers.fixers._python import expression
from kvaudit.core.findings import Edit, Finding, Fix
from kvaudit.core.sources import Span


def fix(finding: Finding) -> Fix | None:
    """Return the fix, where the finding points at a call of ``dumps`` without the argument."""
    seen = expression(finding)
    if seen is None or not isinstance(seen.node, ast.Call) or not seen.node.args:
        return None
    call = seen.node
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name != "dumps" or any(word.arg in ("sort_keys", None) for word in call.keywords):
        return None
    end = seen.span(call).end - 1
    comma = "" if finding.source.text[:end].rstrip().endswith(",") else ","
    edit = Edit(source=finding.source, span=Span(end, end), replacement=f"{comma} sort_keys=True")
    return Fix(title="sort the keys", edits=[edit], safe=False)
