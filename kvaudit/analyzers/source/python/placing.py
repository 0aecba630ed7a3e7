"""How an expression becomes part of a text: where it stands there, and what it came from."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.parts import Hazard
from kvaudit.analyzers.source.python import lookup
from kvaudit.analyzers.source.python.engine import Engine, Frame
from kvaudit.analyzers.source.python.origins import Named, is_person, named
from kvaudit.analyzers.source.python.values import Part, Shape, Value
from kvaudit.core.document import VOLATILITY_OF, Evidence, Origin, Step
from kvaudit.core.sources import Span

_NOT_BY_ATTRIBUTE = (Origin.COUNTER, Origin.RANDOM, Origin.USER_INPUT)
"""Attributes of these names belong to stored things: the step of a plan, the id of a call."""

_OF_A_RECORD = (Origin.CLOCK, Origin.DATE)
_THIS_MOMENT = re.compile(r"(^|_)(now|current|today|clock)($|_)")
"""A record's time is that of the record, unless its name says that it is the present one."""

_MAY_BE_OWNED = (Origin.UNKNOWN, Origin.DEPLOY)
"""What belongs to the user who owns it: the plan of an account, the name of its company."""


def unknown(engine: Engine, frame: Frame, node: ast.expr, name: str | None = None) -> Value:
    """Return an expression of which only the name speaks."""
    dotted = name if name is not None else frame.module.dotted(node)
    said = named(dotted, engine.project.variables)
    owner = _owner(node)
    if owner is not None:
        if said.origin in _NOT_BY_ATTRIBUTE or _is_stored_time(said.origin, dotted):
            said = Named(Origin.UNKNOWN)
        if said.origin in _MAY_BE_OWNED and is_person(frame.module.dotted(owner)):
            said = Named(Origin.IDENTITY)
    part = Part(
        source=frame.module.source,
        span=frame.module.span(node),
        expression=frame.module.written(node),
        origin=said.origin,
        volatility=VOLATILITY_OF[said.origin],
        evidence=Evidence.NAME,
        tokens=said.tokens,
    )
    return Value(parts=(part,), at=(part.source, part.span))


def _owner(node: ast.expr) -> ast.expr | None:
    """Return what an attribute or an entry belongs to; ``row.get("at")`` is an entry as well."""
    if isinstance(node, ast.Attribute | ast.Subscript):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.value if node.func.attr == "get" and node.args else None
    return None


def _is_stored_time(origin: Origin, dotted: str) -> bool:
    return origin in _OF_A_RECORD and not _THIS_MOMENT.search(snake_case(dotted))


def arisen(
    frame: Frame, node: ast.expr, origin: Origin, shape: Shape, label: str, *, sure: bool = True
) -> Value:
    """Return a value that changes, at the place where it arises."""
    span = frame.module.span(node)
    part = Part(
        source=frame.module.source,
        span=span,
        expression=frame.module.written(node),
        origin=origin,
        volatility=VOLATILITY_OF[origin],
        evidence=Evidence.DATAFLOW if sure else Evidence.NAME,
        trail=(Step(source=frame.module.source, span=span, label=label),),
    )
    return Value(parts=(part,), shape=shape, at=(part.source, span))


def literal(frame: Frame, node: ast.AST, text: str, span: Span | None = None) -> Part:
    """Return a run of literal text."""
    return Part(source=frame.module.source, span=span or frame.module.span(node), text=text)


def placed(frame: Frame, node: ast.expr, value: Value) -> tuple[Part, ...]:
    """Return a value's parts as they are put into a text at ``node``.

    A single value from elsewhere is shown where it is put in, and its way is kept; a text that
    was built elsewhere keeps its own places.
    """
    parts = value.printed
    span = frame.module.span(node)
    if len(parts) != 1 or parts[0].text is not None or parts[0].param is not None:
        return parts
    part = parts[0]
    if part.source is frame.module.source and span.start <= part.span.start < span.end:
        return (replace(part, span=span, expression=frame.module.written(node)),)
    step = Step(source=part.source, span=part.span, label="comes from here")
    return (
        replace(
            part,
            source=frame.module.source,
            span=span,
            expression=frame.module.written(node),
            trail=part.trail or (step,),
        ),
    )


def element_at(frame: Frame, node: ast.expr, value: Value) -> Value:
    """Return a value as an element of a list, with the place where it is put in."""
    if value.items is None and value.fields is None and len(value.parts) == 1:
        value = replace(value, parts=placed(frame, node, value))
    return replace(value, spread=False) if value.spread else value


def printed_object(frame: Frame, node: ast.expr, value: Value) -> Value:
    """Return what printing an object gives: for some, their address in memory."""
    what = lookup.bare_object(value)
    if what is None:
        return value
    span = frame.module.span(node)
    written = frame.module.written(node)
    hazard = Hazard(
        "object-repr", frame.module.source, span, f"{written} is {what}, which prints its address"
    )
    part = Part(
        source=frame.module.source,
        span=span,
        expression=written,
        origin=Origin.OBJECT_REPR,
        volatility=VOLATILITY_OF[Origin.OBJECT_REPR],
        hazards=(hazard,),
    )
    return Value(parts=(part,))
