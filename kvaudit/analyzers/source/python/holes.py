"""Holes of templates: those of a file of its own, and those that call something themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from kvaudit.analyzers.source.python.engine import Engine
from kvaudit.analyzers.source.python.values import Part, Value
from kvaudit.core.document import Evidence, Origin, Step

JINJA = (".j2", ".jinja", ".jinja2")
"""Files whose holes their own reader finds; braces in the text between are no holes."""

_SEEN_IN_TEMPLATES = (Origin.CLOCK, Origin.DATE, Origin.RANDOM)
"""What a template's own functions read anew whenever it is rendered."""

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


def called_hole(engine: Engine, part: Part, written: str) -> Part:
    """Return a hole of Jinja that calls something: ``{{ now() }}``, as in a file of templates."""
    from kvaudit.analyzers.template.jinja.expressions import Scope, printed

    made = printed(written.strip("{}- \t\n"), Scope(engine.project.variables))
    is_seen = made.origin in _SEEN_IN_TEMPLATES
    step = Step(source=part.source, span=part.span, label="the template calls it")
    return replace(
        part.of(made.origin),
        text=None,
        expression=written,
        evidence=Evidence.DATAFLOW if is_seen else Evidence.NAME,
        trail=(step,) if is_seen else (),
        is_hole=True,
    )
