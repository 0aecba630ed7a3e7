"""Methods of text and of lists, as far as they keep, join or fill what they are called on."""

from __future__ import annotations

import re
from dataclasses import replace

from kvaudit.analyzers.sizes import MAX_REPEATS, estimate_tokens
from kvaudit.analyzers.source.ecmascript import evaluate as values
from kvaudit.analyzers.source.ecmascript import pieces
from kvaudit.analyzers.source.ecmascript.engine import Engine, Frame
from kvaudit.analyzers.source.ecmascript.replacing import replaced
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import NOTHING, Shape, Value, list_of, text_of
from kvaudit.analyzers.source.parts import Part

SAME_TEXT = frozenset((
    "trim", "trimStart", "trimEnd", "trimLeft", "trimRight", "toLowerCase", "toUpperCase",
    "toString", "normalize", "padEnd", "padStart", "valueOf", "then", "catch", "finally", "at",
))  # fmt: skip
_GLOBAL = re.compile(r"""/[a-z]*g[a-z]*$|["'][a-z]*g[a-z]*["']\s*\)$""")
"""An expression, written out or made by ``RegExp``, that is looked for everywhere in a text."""
_SAME_LIST = frozenset((
    "filter", "slice", "reverse", "flat", "toReversed", "values", "entries", "toSorted",
    "concat", "flatMap", "map", "sort", "join", "reduce", "forEach",
))  # fmt: skip


def of_text(
    engine: Engine, frame: Frame, node: Node, receiver: Value, method: str, args: list[Node]
) -> Value | None:
    """Return what a method gives; None where nothing is known of it."""
    if method in SAME_TEXT and (receiver.parts or receiver.items is not None):
        return replace(receiver, spread=False)
    if method == "repeat" and receiver.parts:
        return _repeated(receiver, frame.module.text(args[0]) if args else "")
    if method in ("replace", "replaceAll") and len(args) == 2:
        every = method == "replaceAll" or _GLOBAL.search(frame.module.text(args[0])) is not None
        return replaced(engine, frame, receiver, args, every=every)
    if method == "concat":
        return _joined_to(engine, frame, receiver, args)
    if method == "join":
        return _joined(engine, frame, node, receiver, args)
    if method in ("map", "flatMap"):
        return _mapped(engine, frame, receiver, args)
    if method == "reduce":
        return _reduced(engine, frame, receiver, args)
    if method in ("sort", "toSorted"):
        return pieces.sorted_list(frame, node, receiver)
    if method in _SAME_LIST and (receiver.items is not None or receiver.hazards):
        return receiver
    if method in ("slice", "substring", "substr") and receiver.parts:
        return receiver
    return None


def _repeated(receiver: Value, times: str) -> Value:
    """Return a text written several times over; only its size differs from the text's own."""
    if not times.isdecimal() or any(part.text is None for part in receiver.parts):
        return receiver
    tokens = min(int(times), MAX_REPEATS) * sum(
        estimate_tokens(part.text or "") for part in receiver.parts
    )
    return replace(receiver, parts=(replace(receiver.parts[0], tokens=tokens),))


def _joined_to(engine: Engine, frame: Frame, receiver: Value, args: list[Node]) -> Value | None:
    given = [values.element(engine, frame, arg) for arg in args]
    if receiver.items is not None:
        items = list(receiver.items)
        for value in given:
            items += value.items if value.items is not None else [replace(value, spread=True)]
        return replace(list_of(items, receiver.hazards), node=receiver.node, source=receiver.source)
    if receiver.shape is Shape.TEXT:
        added = [p for a, v in zip(args, given, strict=True) for p in pieces.placed(frame, a, v)]
        return text_of((*receiver.parts, *added))
    return None


def _joined(
    engine: Engine, frame: Frame, node: Node, receiver: Value, args: list[Node]
) -> Value | None:
    if receiver.items is None:
        return replace(receiver, shape=Shape.TEXT) if receiver.printed else None
    separator = values.evaluate(engine, args[0], frame).printed if args else ()
    parts: list[Part] = []
    for index, item in enumerate(receiver.items):
        if index:
            parts += separator
        parts += item.printed
    return replace(text_of(parts), hazards=receiver.hazards)


def _mapped(engine: Engine, frame: Frame, receiver: Value, args: list[Node]) -> Value | None:
    """Return a list after a function of each element; one stands for all of an open list."""
    if not args:
        return None
    code = values.evaluate(engine, args[0], frame).code
    if code is None:
        return None
    rows = receiver.items if receiver.items is not None else (NOTHING,)
    made = []
    for row in rows[:20]:
        value = values.result(engine, frame, code, [replace(row, spread=False)])
        made.append(replace(value, spread=row.spread or receiver.items is None))
    if not any(value.printed or value.fields or value.items for value in made):
        return None
    return list_of(made, receiver.hazards)


def _reduced(engine: Engine, frame: Frame, receiver: Value, args: list[Node]) -> Value | None:
    if len(args) < 2:
        return None
    code = values.evaluate(engine, args[0], frame).code
    first = values.evaluate(engine, args[1], frame)
    if code is None:
        return None
    return values.result(engine, frame, code, [first, *(receiver.items or ())[:1]])
