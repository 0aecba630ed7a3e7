"""Names, attributes and entries: what they stand for, and what belongs to a value that changes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from kvaudit.analyzers.source.python import lookup
from kvaudit.analyzers.source.python.engine import Engine, Frame
from kvaudit.analyzers.source.python.evaluation import evaluate
from kvaudit.analyzers.source.python.moments import coarse, is_date_length, of_time
from kvaudit.analyzers.source.python.origins import arising
from kvaudit.analyzers.source.python.placing import arisen, unknown
from kvaudit.analyzers.source.python.values import Shape, Value, changed
from kvaudit.core.document import Origin

_PASSED_ON = (Origin.RANDOM, Origin.RETRIEVED, Origin.LIVE_STATE)
"""What is drawn, found or read anew makes each field of it new."""


def known_name(engine: Engine, frame: Frame, node: ast.Name) -> Value:
    """Return what a bare name stands for, or what it says."""
    known = lookup.name(engine, frame, node.id)
    return known if known is not None else unknown(engine, frame, node)


def attribute(engine: Engine, frame: Frame, node: ast.Attribute) -> Value:
    """Return what an attribute stands for, or what its name says."""
    dotted = frame.module.dotted(node)
    if dotted in frame.env:
        return frame.env[dotted]
    row = arising("attribute", dotted)
    if row is not None and row.origin is not None:
        return arisen(frame, node, row.origin, row.shape, row.label)
    base = evaluate(engine, frame, node.value)
    known = lookup.attribute(engine, frame, node, base)
    if known is not None:
        return known
    declared = lookup.declared(engine, frame, node)
    if declared is not None:
        return declared
    if base.shape is Shape.MOMENT:
        if node.attr.startswith("tz"):
            return unknown(engine, frame, node)
        return coarse(base) if node.attr in ("year", "month", "day", "days") else base
    return belonging(engine, frame, node, base)


def subscript(engine: Engine, frame: Frame, node: ast.Subscript) -> Value:
    """Return an entry, an element or a slice."""
    dotted = frame.module.dotted(node)
    row = arising("attribute", dotted)
    if row is not None and row.origin is not None:
        return arisen(frame, node, row.origin, row.shape, row.label)
    base = evaluate(engine, frame, node.value)
    index = node.slice
    if isinstance(index, ast.Slice):
        if index.lower is None and is_date_length(index.upper):
            return coarse(base)
        if base.items is not None:
            behind = _behind_the_first(index, base.items)
            kept = tuple(replace(item, spread=True) for item in base.items)
            return replace(base, items=behind or kept)
        return base
    if isinstance(index, ast.Constant):
        if base.fields is not None and isinstance(index.value, str) and index.value in base.fields:
            return stored(index.value, base.fields[index.value])
        if (
            base.items
            and isinstance(index.value, int)
            and -len(base.items) <= index.value < len(base.items)
        ):
            return replace(base.items[index.value], spread=False)
        if base.parts and all(p.origin in (Origin.CLOCK, Origin.DATE) for p in base.parts):
            return of_time(engine, frame, node, base, str(index.value))
        if isinstance(index.value, str):
            return belonging(engine, frame, node, base, index.value)
    return belonging(engine, frame, node, base)


def _behind_the_first(cut: ast.Slice, items: Sequence[Value]) -> tuple[Value, ...]:
    """Return what ``rows[n:]`` leaves of a list that is all seen; nothing where that is not known.

    The newest message is still the newest where only the system text was taken off.
    """
    match cut:
        case ast.Slice(lower=ast.Constant(int(first)), upper=None, step=None):
            return () if any(item.spread for item in items) else tuple(items[first:])
    return ()


def belonging(
    engine: Engine, frame: Frame, node: ast.expr, owner: Value, name: str | None = None
) -> Value:
    """Return a field or an element of a value: it changes whenever a drawn or found one does.

    Not so a field of a row of a database, which is most often fixed for its user.
    """
    parts = owner.printed
    followed = (
        owner.shape is not Shape.WIRE
        and len(parts) == 1
        and bool(parts[0].trail)
        and parts[0].origin in _PASSED_ON
    )
    if not followed:
        made = unknown(engine, frame, node, name)
        # Whoever calls decides the order of keyword arguments, but not what is in each of them.
        given = len(parts) == 1 and parts[0].param is not None
        return replace(made, shape=owner.shape) if owner.shape is Shape.WIRE and not given else made
    span = frame.module.span(node)
    part = replace(parts[0], span=span, source=frame.module.source)
    part = replace(part, expression=frame.module.written(node), hazards=(), param=None)
    return Value(parts=(part,), at=(part.source, span))


def stored(name: str, value: Value) -> Value:
    """Return an entry; an id that a record keeps was drawn once and stays what it is."""
    if name != "id" and not name.endswith("_id"):
        return value
    return changed(
        value, lambda part: (part.of(Origin.UNKNOWN) if part.origin is Origin.RANDOM else part,)
    )
