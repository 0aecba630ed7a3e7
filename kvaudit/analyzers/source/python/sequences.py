"""Lists, sets and dicts, written out or as comprehensions: their elements and their order."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from kvaudit.analyzers.source.parts import Hazard
from kvaudit.analyzers.source.python.binding import bind
from kvaudit.analyzers.source.python.engine import Engine, Frame
from kvaudit.analyzers.source.python.evaluation import evaluate
from kvaudit.analyzers.source.python.placing import element_at, unknown
from kvaudit.analyzers.source.python.values import NOTHING, Shape, Value, list_of, richer
from kvaudit.core.document import Evidence

_BUILT_IN = {kind.__name__: kind for kind in (dict, list, tuple, set, str, int, float)}


def as_items(value: Value) -> tuple[Value, ...]:
    """Return a value's elements; one that is unknown stands for any number of them."""
    if value.items is not None:
        return value.items
    return (replace(value, spread=True),)


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


def sequence(engine: Engine, frame: Frame, node: ast.List | ast.Tuple) -> Value:
    """Return a list or a tuple."""
    items: list[Value] = []
    for item in node.elts:
        if isinstance(item, ast.Starred):
            items += as_items(evaluate(engine, frame, item.value))
        else:
            items.append(element_at(frame, item, evaluate(engine, frame, item)))
    return replace(list_of(items), at=(frame.module.source, frame.module.span(node)))


def set_literal(engine: Engine, frame: Frame, node: ast.Set) -> Value:
    """Return a set that is written out; numbers alone keep their order."""
    items = [evaluate(engine, frame, item) for item in node.elts]
    if all(item.literal is not None for item in items):
        return list_of(items)
    return set_of(frame, node, list_of(items))


def dict_literal(engine: Engine, frame: Frame, node: ast.Dict) -> Value:
    """Return a dict that is written out."""
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


def comprehension(
    engine: Engine, frame: Frame, node: ast.ListComp | ast.GeneratorExp | ast.SetComp
) -> Value:
    """Return the list, or the set, that a comprehension makes."""
    if _comes_out_empty(node):
        return list_of(())
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


def _comes_out_empty(node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> bool:
    """Whether what the condition lets through lacks an attribute that is read of it.

    ``{item.uri for item in found if isinstance(item, dict)}`` fails on the first dict. A program
    that runs has none there, so no text is made.
    """
    read = [
        (of.value.id, of.attr)
        for of in ast.walk(node.elt)
        if isinstance(of, ast.Attribute) and isinstance(of.value, ast.Name)
    ]
    conditions = [condition for generator in node.generators for condition in generator.ifs]
    return any(
        name == checked and not hasattr(kind, attribute)
        for condition in conditions
        for checked, kind in _is_checked_for(condition)
        for name, attribute in read
    )


def _is_checked_for(condition: ast.expr) -> Iterator[tuple[str, type]]:
    """Yield the name and the type of ``isinstance(name, dict)``, for types that are built in."""
    match condition:
        case ast.Call(func=ast.Name("isinstance"), args=[ast.Name(name), ast.Name(kind)]) if (
            kind in _BUILT_IN
        ):
            yield name, _BUILT_IN[kind]


def dict_comprehension(engine: Engine, frame: Frame, node: ast.DictComp) -> Value:
    """Return the dict that a comprehension makes, under a key that is not known."""
    inner = replace(frame, env=dict(frame.env))
    hazards: tuple[Hazard, ...] = ()
    for generator in node.generators:
        value = evaluate(engine, inner, generator.iter)
        hazards += value.hazards
        bind(engine, inner, generator.target, element(engine, inner, value, generator.target))
    result = evaluate(engine, inner, node.value)
    return Value(fields={"<key>": result}, shape=Shape.FIELDS, hazards=hazards)


def in_order(value: Value) -> Value:
    """Return a value once it was sorted: its elements stand in an order of their own."""
    orders = {
        "set-order",
        "discovery-order",
        "listing-order",
        "retrieval-order",
        "shuffled-examples",
    }
    keep = tuple(h for h in value.hazards if h.kind not in orders)
    parts = tuple(
        replace(p, hazards=tuple(h for h in p.hazards if h.kind not in orders)) for p in value.parts
    )
    items = value.items
    if items is not None:
        items = tuple(in_order(item) for item in items)
    return replace(value, hazards=keep, parts=parts, items=items, shape=Shape.LIST)
