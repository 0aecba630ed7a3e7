"""Holes of a template that lies in a file of its own, and what a call fills them with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from kvaudit.analyzers.source.python.values import Part, Value
from kvaudit.core.document import Evidence

JINJA = (".j2", ".jinja", ".jinja2")
"""Files whose holes their own reader finds; braces in the text between are no holes."""

_VARIABLE = re.compile(r"(?:\{\{-?\s*)?([A-Za-z_]\w*)(?:\s*-?\}\})?")


def bound_hole(part: Part, given: Mapping[str, Value] | Mapping[str | int, Value]) -> Part:
    """Return a hole as what fills it: where it stands in the template, and how that changes."""
    named = _VARIABLE.fullmatch(part.expression or "")
    value = given.get(named[1]) if named is not None else None
    filling = value.printed if value is not None else ()
    followed = [p for p in filling if p.trail or p.evidence is not Evidence.NAME]
    if not followed:
        return part
    most = max(followed, key=lambda p: p.volatility)
    return replace(
        part,
        origin=most.origin,
        volatility=most.volatility,
        evidence=Evidence.BINDING,
        trail=most.trail,
        hazards=most.hazards,
        is_hole=False,
    )
