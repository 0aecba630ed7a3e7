"""Expressions: what text they print as, and where its parts come from."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace

from kvaudit.analyzers.sizes import MAX_REPEATS, estimate_tokens
from kvaudit.analyzers.source.python import lookup
from kvaudit.analyzers.source.python.engine import Engine, Frame
from kvaudit.analyzers.source.python.origins import Named, arising, is_person, named, precision
from kvaudit.analyzers.source.python.values import (
    NOTHING,
    Code,
    Hazard,
    Part,
    Shape,
    Value,
    changed,
    list_of,
    richer,
    text_of,
)
from kvaudit.core.document import VOLATILITY_OF, Evidence, Origin, Step
from kvaudit.core.sources import Span

_NOT_BY_ATTRIBUTE = (Origin.COUNTER, Origin.RANDOM, Origin.USER_INPUT)
"""Attributes of these names belong to stored things: the step of a plan, the id of a call."""

_MAY_BE_OWNED = (Origin.UNKNOWN, Origin.DEPLOY)
"""What belongs to the user who owns it: the plan of an account, the name of its company."""

_PASSED_ON = (Origin.RANDOM, Origin.RETRIEVED, Origin.LIVE_STATE)
"""What is drawn, found or read anew makes each field of it new."""


def evaluate(engine: Engine, frame: Frame, node: ast.expr | None) -> Value:
    """Return what is known of an expression."""
    if node is None or not engine.spend():
        return NOTHING
    handler = _HANDLERS.get(type(node))
    return NOTHING if handler is None else handler(engine, frame, node)


def unknown(engine: Engine, frame: Frame, node: ast.expr, name: str | None = None) -> Value:
    """Return an expression of which only the name speaks."""
    dotted = name if name is not None else frame.module.dotted(node)
    said = named(dotted, engine.project.variables)
    if isinstance(node, ast.Attribute | ast.Subscript) and said.origin in _NOT_BY_ATTRIBUTE:
        said = Named(Origin.UNKNOWN)
    if isinstance(node, ast.Attribute | ast.Subscript) and said.origin in _MAY_BE_OWNED:
        said = Named(Origin.IDENTITY) if is_person(frame.module.dotted(node.value)) else said
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


def literal(frame: Frame, node: ast.AST, text: str, span: Span | None = None) -> Part:
    """Return a run of literal text."""
    return Part(source=frame.module.source, span=span or frame.module.span(node), text=text)


def element(engine: Engine, frame: Frame, value: Value, target: ast.expr) -> Value:
    """Return what a loop's variable stands for."""
    name = target.id if isinstance(target, ast.Name) else None
    if value.items:
        whole = [item for item in value.items if not item.spread]
        found = NOTHING
        for item in whole or value.items:
            found = richer(found, item)
        return replace(found, spread=False)
    parts = value.parts
    if len(parts) == 1 and parts[0].text is None and parts[0].evidence is not Evidence.NAME:
        return replace(value, hazards=(), shape=value.shape)
    return unknown(engine, frame, target, name)


def _constant(engine: Engine, frame: Frame, node: ast.Constant) -> Value:
    if isinstance(node.value, str):
        return text_of((literal(frame, node, node.value),) if node.value else ())
    return Value(literal=node.value)


def _joined(engine: Engine, frame: Frame, node: ast.JoinedStr) -> Value:
    parts: list[Part] = []
    pieces = frame.module.formatted(node)
    fields = iter([piece for piece in pieces if not isinstance(piece, Span)])
    runs = iter([piece for piece in pieces if isinstance(piece, Span)])
    for given in node.values:
        if isinstance(given, ast.Constant):
            parts.append(literal(frame, node, str(given.value), next(runs, None)))
        elif isinstance(given, ast.FormattedValue):
            inner = next(fields, given.value)
            value = evaluate(engine, frame, inner)
            if isinstance(given.format_spec, ast.JoinedStr):
                value = _formatted(value, given.format_spec)
            parts += placed(frame, inner, printed_object(frame, inner, value))
    return text_of(parts)


def _formatted(value: Value, spec: ast.JoinedStr) -> Value:
    written = "".join(str(v.value) for v in spec.values if isinstance(v, ast.Constant))
    return at_precision(value, written) if "%" in written else value


def at_precision(value: Value, pattern: str) -> Value:
    """Return a clock reading after a time format."""
    fine = precision(pattern)
    if fine is None:
        return replace(value, shape=Shape.TEXT)
    return replace(coarse(value) if fine is Origin.DATE else value, shape=Shape.TEXT)


def coarse(value: Value) -> Value:
    """Return a clock reading of which only the day is left."""
    return changed(
        value, lambda part: (part.of(Origin.DATE) if part.origin is Origin.CLOCK else part,)
    )


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


def _binary(engine: Engine, frame: Frame, node: ast.BinOp) -> Value:
    if isinstance(node.op, ast.Add):
        return _sum(engine, frame, node)
    left = evaluate(engine, frame, node.left)
    right = evaluate(engine, frame, node.right)
    if isinstance(node.op, ast.Mod) and (left.shape is Shape.TEXT or _is_text(node.left)):
        from kvaudit.analyzers.source.python.templates import percent

        return percent(engine, frame, node, left, right)
    if isinstance(node.op, ast.Sub | ast.BitOr | ast.BitAnd) and Shape.SET in (
        left.shape,
        right.shape,
    ):
        return set_of(frame, node, left)
    if isinstance(node.op, ast.BitOr) and (left.fields is not None or right.fields is not None):
        return Value(fields={**(left.fields or {}), **(right.fields or {})}, shape=Shape.FIELDS)
    if isinstance(node.op, ast.Mult) and Shape.TEXT in (left.shape, right.shape):
        text, times = (left, right) if left.shape is Shape.TEXT else (right, left)
        return _repeated(text, times.literal)
    # Differences of clocks and rounded clocks are clocks still.
    return left if left.shape is Shape.MOMENT else replace(richer(left, right), items=None)


def _repeated(value: Value, times: object) -> Value:
    """Return a text written several times over; only its size differs from the text's own."""
    if value.text is None or not isinstance(times, int) or times < 1:
        return value
    tokens = estimate_tokens(value.text) * min(times, MAX_REPEATS)
    return replace(value, parts=tuple(replace(part, tokens=tokens) for part in value.parts[:1]))


def _sum(engine: Engine, frame: Frame, node: ast.BinOp) -> Value:
    """Follow a sum from its leftmost term: sums of a thousand strings are long, not deep."""
    terms: list[ast.expr] = []
    rest: ast.expr = node
    while isinstance(rest, ast.BinOp) and isinstance(rest.op, ast.Add):
        terms.append(rest.right)
        rest = rest.left
    terms.append(rest)
    total = evaluate(engine, frame, terms[-1])
    first = terms.pop()
    for term in reversed(terms):
        total = plus(frame, first, total, term, evaluate(engine, frame, term))
    return total


def plus(frame: Frame, left: ast.expr, one: Value, right: ast.expr, other: Value) -> Value:
    """Return the sum of two values, as text or as lists."""
    if one.items is not None or other.items is not None:
        return list_of((*as_items(one), *as_items(other)), one.hazards + other.hazards)
    if one.shape is Shape.MOMENT:
        return one
    return text_of((*placed(frame, left, one), *placed(frame, right, other)))


def as_items(value: Value) -> tuple[Value, ...]:
    """Return a value's elements; one that is unknown stands for any number of them."""
    if value.items is not None:
        return value.items
    return (replace(value, spread=True),)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _name(engine: Engine, frame: Frame, node: ast.Name) -> Value:
    known = lookup.name(engine, frame, node.id)
    return known if known is not None else unknown(engine, frame, node)


def _attribute(engine: Engine, frame: Frame, node: ast.Attribute) -> Value:
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
    if base.shape is Shape.MOMENT:
        if node.attr.startswith("tz"):
            return unknown(engine, frame, node)
        return coarse(base) if node.attr in ("year", "month", "day") else base
    return belonging(engine, frame, node, base)


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


def _subscript(engine: Engine, frame: Frame, node: ast.Subscript) -> Value:
    dotted = frame.module.dotted(node)
    row = arising("attribute", dotted)
    if row is not None and row.origin is not None:
        return arisen(frame, node, row.origin, row.shape, row.label)
    base = evaluate(engine, frame, node.value)
    index = node.slice
    if isinstance(index, ast.Slice):
        if index.lower is None and _is_date_length(index.upper):
            return coarse(base)
        if base.items is not None:
            return replace(base, items=tuple(replace(item, spread=True) for item in base.items))
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
            return _of_time(engine, frame, node, base, str(index.value))
        if isinstance(index.value, str):
            return belonging(engine, frame, node, base, index.value)
    return belonging(engine, frame, node, base)


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
        return replace(made, shape=owner.shape) if owner.shape is Shape.WIRE else made
    span = frame.module.span(node)
    part = replace(parts[0], span=span, source=frame.module.source)
    part = replace(part, expression=frame.module.written(node), hazards=(), param=None)
    return Value(parts=(part,), at=(part.source, span))


def _of_time(engine: Engine, frame: Frame, node: ast.Subscript, base: Value, key: str) -> Value:
    """Return a field of a reading of the clock that came as a dict."""
    if "zone" in key or key.startswith("tz"):
        return unknown(engine, frame, node, key)
    return coarse(base) if re.search(r"day|date|month|year", key) else base


def stored(name: str, value: Value) -> Value:
    """Return an entry; an id that a record keeps was drawn once and stays what it is."""
    if name != "id" and not name.endswith("_id"):
        return value
    return changed(
        value, lambda part: (part.of(Origin.UNKNOWN) if part.origin is Origin.RANDOM else part,)
    )


def _is_date_length(upper: ast.expr | None) -> bool:
    """Whether a slice ends where the time of day begins in ``2026-01-31T09:00``."""
    if not isinstance(upper, ast.Constant) or not isinstance(upper.value, int):
        return False
    return 0 < upper.value <= len("2026-01-31")


def _conditional(engine: Engine, frame: Frame, node: ast.IfExp) -> Value:
    body, orelse = evaluate(engine, frame, node.body), evaluate(engine, frame, node.orelse)
    if isinstance(node.test, ast.Name) and node.test.id in frame.switches:
        return body if frame.switches[node.test.id] else orelse
    return richer(body, orelse)


def _either(engine: Engine, frame: Frame, node: ast.BoolOp) -> Value:
    values = [evaluate(engine, frame, value) for value in node.values]
    if isinstance(node.op, ast.And):
        return values[-1]
    found = values[0]
    for value in values[1:]:
        found = richer(found, value)
    return found


def _sequence(engine: Engine, frame: Frame, node: ast.List | ast.Tuple) -> Value:
    items: list[Value] = []
    for item in node.elts:
        if isinstance(item, ast.Starred):
            items += as_items(evaluate(engine, frame, item.value))
        else:
            items.append(element_at(frame, item, evaluate(engine, frame, item)))
    return replace(list_of(items), at=(frame.module.source, frame.module.span(node)))


def element_at(frame: Frame, node: ast.expr, value: Value) -> Value:
    """Return a value as an element of a list, with the place where it is put in."""
    if value.items is None and value.fields is None and len(value.parts) == 1:
        value = replace(value, parts=placed(frame, node, value))
    return replace(value, spread=False)


def set_of(frame: Frame, node: ast.expr, inner: Value) -> Value:
    """Return a set; whoever prints it prints it in an order that changes between processes."""
    hazard = Hazard(
        "set-order",
        frame.module.source,
        frame.module.span(node),
        f"{frame.module.written(node)} is a set",
    )
    small = (
        inner.items is not None and len(inner.items) < 2 and not any(i.spread for i in inner.items)
    )
    return replace(inner, shape=Shape.SET, hazards=() if small else (hazard,))


def _set(engine: Engine, frame: Frame, node: ast.Set) -> Value:
    items = [evaluate(engine, frame, item) for item in node.elts]
    if all(item.literal is not None for item in items):
        return list_of(items)
    return set_of(frame, node, list_of(items))


def _dict(engine: Engine, frame: Frame, node: ast.Dict) -> Value:
    fields: dict[str, Value] = {}
    for key, item in zip(node.keys, node.values, strict=True):
        value = evaluate(engine, frame, item)
        if key is None:
            fields.update(value.fields or {})
            continue
        named_by = evaluate(engine, frame, key)
        name = named_by.text or f"<{frame.module.written(key)}>"
        fields[name] = element_at(frame, item, value)
    return Value(
        fields=fields, shape=Shape.FIELDS, at=(frame.module.source, frame.module.span(node))
    )


def _comprehension(
    engine: Engine, frame: Frame, node: ast.ListComp | ast.GeneratorExp | ast.SetComp
) -> Value:
    inner = replace(frame, env=dict(frame.env))
    first = node.generators[0]
    source = evaluate(engine, frame, first.iter)
    hazards = source.hazards
    if (
        source.items is not None
        and len(node.generators) == 1
        and not any(item.spread for item in source.items)
        and len(source.items) <= 60
    ):
        results = []
        for item in source.items:
            bind(engine, inner, first.target, item)
            results.append(element_at(inner, node.elt, evaluate(engine, inner, node.elt)))
        made = list_of(results, hazards)
    else:
        for generator in node.generators:
            value = evaluate(engine, inner, generator.iter)
            inner.loops = (*inner.loops, node)
            hazards += tuple(h for h in value.hazards if h not in hazards)
            bind(engine, inner, generator.target, element(engine, inner, value, generator.target))
        result = element_at(inner, node.elt, evaluate(engine, inner, node.elt))
        made = list_of((replace(result, spread=True),), hazards)
    made = replace(made, at=(frame.module.source, frame.module.span(node)))
    return set_of(frame, node, made) if isinstance(node, ast.SetComp) else made


def _dict_comprehension(engine: Engine, frame: Frame, node: ast.DictComp) -> Value:
    inner = replace(frame, env=dict(frame.env))
    hazards: tuple[Hazard, ...] = ()
    for generator in node.generators:
        value = evaluate(engine, inner, generator.iter)
        hazards += value.hazards
        bind(engine, inner, generator.target, element(engine, inner, value, generator.target))
    result = evaluate(engine, inner, node.value)
    return Value(fields={"<key>": result}, shape=Shape.FIELDS, hazards=hazards)


def bind(engine: Engine, frame: Frame, target: ast.expr, value: Value) -> None:
    """Give a value to a target of an assignment, a loop or a comprehension."""
    if isinstance(target, ast.Name):
        frame.env[target.id] = value
    elif isinstance(target, ast.Attribute):
        frame.env[frame.module.dotted(target)] = value
    elif isinstance(target, ast.Starred):
        bind(engine, frame, target.value, value)
    elif isinstance(target, ast.Tuple | ast.List):
        items = value.items if value.items and len(value.items) == len(target.elts) else None
        for at, inner in enumerate(target.elts):
            bind(engine, frame, inner, items[at] if items else unknown(engine, frame, inner))
    elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        base = evaluate(engine, frame, target.value)
        if base.fields is not None and isinstance(target.slice.value, str):
            fields = {**base.fields, target.slice.value: value}
            bind(engine, frame, target.value, replace(base, fields=fields))
        elif base.items and isinstance(target.slice.value, int):
            at = target.slice.value
            if -len(base.items) <= at < len(base.items):
                items_ = list(base.items)
                items_[at] = value
                bind(engine, frame, target.value, replace(base, items=tuple(items_)))


def _lambda(engine: Engine, frame: Frame, node: ast.Lambda) -> Value:
    return Value(
        shape=Shape.CODE,
        code=Code(frame.module, node, frame.owner, {**(frame.closure or {}), **frame.env}),
    )


def _await(engine: Engine, frame: Frame, node: ast.Await) -> Value:
    return evaluate(engine, frame, node.value)


def _walrus(engine: Engine, frame: Frame, node: ast.NamedExpr) -> Value:
    value = evaluate(engine, frame, node.value)
    bind(engine, frame, node.target, value)
    return value


def _yield(engine: Engine, frame: Frame, node: ast.Yield | ast.YieldFrom) -> Value:
    value = evaluate(engine, frame, node.value)
    frame.yielded += as_items(value) if isinstance(node, ast.YieldFrom) else (value,)
    return NOTHING


def _compare(engine: Engine, frame: Frame, node: ast.Compare | ast.UnaryOp) -> Value:
    inner = [node.left, *node.comparators] if isinstance(node, ast.Compare) else [node.operand]
    values = [evaluate(engine, frame, item) for item in inner]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = values[0].literal
        return Value(literal=-number if isinstance(number, int | float) else None)
    return NOTHING


def _starred(engine: Engine, frame: Frame, node: ast.Starred) -> Value:
    return replace(evaluate(engine, frame, node.value), spread=True)


def _call(engine: Engine, frame: Frame, node: ast.Call) -> Value:
    from kvaudit.analyzers.source.python.calls import call

    return call(engine, frame, node)


_HANDLERS: dict[type, Callable[..., Value]] = {
    ast.Constant: _constant,
    ast.JoinedStr: _joined,
    ast.BinOp: _binary,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.IfExp: _conditional,
    ast.BoolOp: _either,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _dict_comprehension,
    ast.Lambda: _lambda,
    ast.Await: _await,
    ast.NamedExpr: _walrus,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
    ast.Compare: _compare,
    ast.UnaryOp: _compare,
    ast.Starred: _starred,
    ast.Call: _call,
}
