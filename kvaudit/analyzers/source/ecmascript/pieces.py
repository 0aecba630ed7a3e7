"""Values of single expressions: what is known of one, and how it stands in a longer text."""

from __future__ import annotations

import re
from dataclasses import replace

from kvaudit.analyzers.source.ecmascript.engine import Engine, Frame
from kvaudit.analyzers.source.ecmascript.origins import named
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import Shape, Value
from kvaudit.analyzers.source.parts import Hazard, Part
from kvaudit.core.document import VOLATILITY_OF, Evidence, Origin, Step
from kvaudit.core.sources import Span

_ESCAPES = re.compile(r"\\(u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r?\n|.)", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}


def unknown(engine: Engine, frame: Frame, node: Node, name: str) -> Value:
    """Return an expression of which only a name is known."""
    said = named(name, engine.said)
    return Value(
        parts=(
            Part(
                frame.module.source,
                node.span,
                expression=frame.module.text(node),
                origin=said.origin,
                volatility=VOLATILITY_OF[said.origin],
                evidence=Evidence.NAME,
                tokens=said.tokens,
            ),
        )
    )


def arisen(
    frame: Frame, node: Node, origin: Origin, label: str, shape: Shape = Shape.UNKNOWN
) -> Value:
    """Return a value that arises at a place."""
    source = frame.module.source
    part = Part(
        source,
        node.span,
        expression=frame.module.text(node),
        origin=origin,
        volatility=VOLATILITY_OF[origin],
        trail=(Step(source=source, span=node.span, label=label),),
    )
    return Value(parts=(part,), shape=shape)


def constant(frame: Frame, node: Node) -> Value:
    """Return a short text that does not change, though it is not written out."""
    part = Part(frame.module.source, node.span, expression=frame.module.text(node), tokens=2)
    return Value(parts=(part,))


def again(frame: Frame, node: Node, value: Value) -> Value:
    """Return a value of one expression as it stands at another place."""
    return replace(value, parts=placed(frame, node, value))


def placed(frame: Frame, node: Node, value: Value) -> tuple[Part, ...]:
    """Return the text of a value where it is put into another one.

    A single expression is reported where it is put in, with its way from where it arose; a
    text of several pieces keeps the places of its pieces.
    """
    sole = value.sole
    if sole is None:
        return value.printed
    here = replace(
        sole,
        source=frame.module.source,
        span=node.span,
        expression=frame.module.text(node),
        hazards=(*sole.hazards, *(h for h in value.hazards if h not in sole.hazards)),
    )
    return (here,)


def literal(frame: Frame, span: Span, text: str) -> Part:
    """Return a piece of fixed text."""
    return Part(frame.module.source, span, text=text)


def unescaped(raw: str) -> str:
    """Return the text that a literal stands for."""
    return raw if "\\" not in raw else _ESCAPES.sub(_character, raw)


def _character(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "ux" and len(code) > 1:
        number = int(code.strip("ux{}"), 16)
        return chr(number) if number < 0x110000 else ""
    return "" if code.endswith("\n") else _PLAIN.get(code, code)


def sorted_list(frame: Frame, node: Node, value: Value) -> Value:
    """Return a list after it was sorted: by a rule its order is settled, by chance it is not."""
    arguments = node.get("arguments")
    written = frame.module.text(arguments) if arguments is not None else ""
    if "Math.random" in written:
        hazard = Hazard(
            "shuffled-examples",
            frame.module.source,
            node.span,
            f"{frame.module.text(node)[:60]} draws a new order on each call",
        )
        return replace(value, hazards=(*value.hazards, hazard))
    orders = (
        "discovery-order",
        "listing-order",
        "shuffled-examples",
        "set-order",
        "retrieval-order",
    )

    def settled(part: Part) -> Part:
        return replace(part, hazards=tuple(h for h in part.hazards if h.kind not in orders))

    items = value.items
    if items is not None:
        items = tuple(sorted_inner(item, orders) for item in items)
    return replace(
        value,
        hazards=tuple(h for h in value.hazards if h.kind not in orders),
        parts=tuple(settled(part) for part in value.parts),
        items=items,
    )


def sorted_inner(value: Value, orders: tuple[str, ...]) -> Value:
    """Return an element without hazards of its order."""
    parts = tuple(
        replace(part, hazards=tuple(h for h in part.hazards if h.kind not in orders))
        for part in value.parts
    )
    return replace(
        value, parts=parts, hazards=tuple(h for h in value.hazards if h.kind not in orders)
    )
