"""JSON: values that are printed, and texts that are parsed."""

from __future__ import annotations

from dataclasses import replace

from kvaudit.analyzers.source.ecmascript import evaluate as values
from kvaudit.analyzers.source.ecmascript import pieces
from kvaudit.analyzers.source.ecmascript.engine import Engine, Frame
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import (
    NOTHING,
    Shape,
    Value,
    all_hazards,
    text_of,
)


def printed(engine: Engine, frame: Frame, node: Node, args: list[Node]) -> Value:
    """Return the text of a value."""
    if not args:
        return NOTHING
    value = values.evaluate(engine, args[0], frame)
    hazards = tuple(all_hazards(value))
    parts = value.printed or pieces.unknown(engine, frame, node, frame.module.dotted(args[0])).parts
    return replace(text_of(parts), hazards=hazards)


def parsed(engine: Engine, frame: Frame, args: list[Node]) -> Value:
    """Return the value of a text; one that was printed for it is copied."""
    if not args:
        return NOTHING
    copied = args[0].get("arguments")
    if copied is not None and copied.kids and frame.module.dotted(args[0]) == "JSON.stringify":
        return values.evaluate(engine, copied.kids[0], frame)
    return replace(values.evaluate(engine, args[0], frame), shape=Shape.PARSED)
