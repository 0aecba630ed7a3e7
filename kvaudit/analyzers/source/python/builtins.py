"""Functions that come with Python, and what they make of their arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from kvaudit.analyzers.source.parts import Hazard
from kvaudit.analyzers.source.python.engine import Engine, Frame
from kvaudit.analyzers.source.python.evaluation import evaluate
from kvaudit.analyzers.source.python.functions import apply
from kvaudit.analyzers.source.python.placing import arisen, element_at, printed_object, unknown
from kvaudit.analyzers.source.python.sequences import as_items, in_order, set_of
from kvaudit.analyzers.source.python.values import (
    NOTHING,
    Shape,
    Value,
    all_hazards,
    list_of,
    text_of,
)
from kvaudit.core.document import Origin


def _sorted(engine: Engine, frame: Frame, node: ast.Call, args: list[Value]) -> Value:
    return in_order(args[0]) if args else NOTHING


def _a_set(engine: Engine, frame: Frame, node: ast.Call, args: list[Value]) -> Value:
    return set_of(frame, node, args[0]) if args else list_of(())


def _number(engine: Engine, frame: Frame, node: ast.Call, args: list[Value]) -> Value:
    return unknown(engine, frame, node, "length")


def _nothing(engine: Engine, frame: Frame, node: ast.Call, args: list[Value]) -> Value:
    return NOTHING


def _a_dict(engine: Engine, frame: Frame, node: ast.Call, args: list[Value]) -> Value:
    fields: dict[str, Value] = dict(args[0].fields or {}) if args else {}
    for keyword in node.keywords:
        value = evaluate(engine, frame, keyword.value)
        if keyword.arg is None:
            fields.update(value.fields or {})
        else:
            fields[keyword.arg] = element_at(frame, keyword.value, value)
    return Value(
        fields=fields, shape=Shape.FIELDS, at=(frame.module.source, frame.module.span(node))
    )


def _represented(engine: Engine, frame: Frame, node: ast.Call, args: list[Value]) -> Value:
    if not args:
        return NOTHING
    return printed_object(frame, node.args[0], args[0])


def _identity(engine: Engine, frame: Frame, node: ast.Call, args: list[Value]) -> Value:
    if not isinstance(node.func, ast.Name):
        return unknown(engine, frame, node)
    hazard = Hazard(
        "object-repr",
        frame.module.source,
        frame.module.span(node),
        f"{frame.module.written(node)} differs between processes",
    )
    made = arisen(frame, node, Origin.OBJECT_REPR, Shape.UNKNOWN, "an address in memory")
    return replace(made, parts=tuple(replace(p, hazards=(hazard,)) for p in made.parts))


def _mapped(engine: Engine, frame: Frame, node: ast.Call, args: list[Value]) -> Value:
    if len(args) < 2:
        return NOTHING
    function, rows = args[0].code, args[1]
    if function is None:
        return rows
    results = [apply(engine, function, (item,), {}, frame.depth) for item in as_items(rows)[:60]]
    return list_of(
        (replace(r, spread=i.spread) for r, i in zip(results, as_items(rows), strict=False)),
        rows.hazards,
    )


def _counted(engine: Engine, frame: Frame, node: ast.Call, args: list[Value]) -> Value:
    return args[0] if args else NOTHING


def _got(engine: Engine, frame: Frame, node: ast.Call, args: list[Value]) -> Value:
    """Return the default of ``getattr``, which is how most objects are; else what the name says."""
    if len(args) > 2 and (args[2].parts or args[2].literal is not None):
        return args[2]
    name = args[1].text if len(args) > 1 else None
    return unknown(engine, frame, node, name or "getattr")


def _as_json(engine: Engine, frame: Frame, node: ast.Call, args: list[Value]) -> Value:
    if not args:
        return NOTHING
    is_sorted = any(
        keyword.arg == "sort_keys"
        and isinstance(keyword.value, ast.Constant)
        and bool(keyword.value.value)
        for keyword in node.keywords
    )
    hazards = tuple(h for h in all_hazards(args[0]) if h.kind == "set-order")
    if not is_sorted and args[0].shape is Shape.WIRE:
        hazards += (
            Hazard(
                "unsorted-json",
                frame.module.source,
                frame.module.span(node),
                f"{frame.module.written(node)} keeps an order of keys that others decide",
            ),
        )
    parts = args[0].printed or unknown(engine, frame, node).parts
    return replace(text_of(parts), hazards=hazards)


BUILTINS: dict[str, Callable[[Engine, Frame, ast.Call, list[Value]], Value]] = {
    "sorted": _sorted,
    "natsorted": _sorted,
    "set": _a_set,
    "frozenset": _a_set,
    "len": _number,
    "sum": _number,
    "print": _nothing,
    "isinstance": _nothing,
    "hasattr": _nothing,
    "dict": _a_dict,
    "repr": _represented,
    "str": _represented,
    "id": _identity,
    "hash": _identity,
    "map": _mapped,
    "enumerate": _counted,
    "zip": _counted,
    "getattr": _got,
    "dumps": _as_json,
    "dump_json": _as_json,
}
