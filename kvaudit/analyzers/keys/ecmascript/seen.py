"""Observations at a node of JavaScript."""

from __future__ import annotations

from kvaudit.analyzers.keys.excerpt import excerpt
from kvaudit.analyzers.source.ecmascript.module import Module
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.core.document import Evidence, Observation


def seen_at(
    module: Module,
    node: Node,
    kind: str,
    detail: str,
    *,
    graver: bool = False,
    evidence: Evidence = Evidence.DATAFLOW,
) -> Observation:
    """Return what was seen at a node."""
    return Observation(
        kind=kind,
        source=module.source,
        span=node.span,
        detail=detail,
        evidence=evidence,
        graver=graver,
    )


def short(module: Module, node: Node) -> str:
    """Return a node as it is written, on one line."""
    return excerpt(module.text(node))
