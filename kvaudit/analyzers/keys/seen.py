"""Observations at a node of Python code."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from kvaudit.analyzers.keys.excerpt import excerpt
from kvaudit.analyzers.keys.scopes import Scope
from kvaudit.core.document import Evidence, Observation
from kvaudit.core.doubt import Doubt


def seen_at(
    scope: Scope,
    node: ast.AST,
    kind: str,
    detail: str,
    *,
    evidence: Evidence = Evidence.DATAFLOW,
    graver: bool = False,
    unseen: Sequence[Doubt] = (),
) -> Observation:
    """Return what was seen at a node."""
    return Observation(
        kind=kind,
        source=scope.module.source,
        span=scope.module.span(node),
        detail=detail,
        evidence=evidence,
        graver=graver,
        unseen=unseen,
    )


def short(scope: Scope, node: ast.AST) -> str:
    """Return a node as it is written, on one line."""
    return excerpt(scope.module.written(node))
