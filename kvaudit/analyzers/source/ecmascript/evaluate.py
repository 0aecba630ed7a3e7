"""Expressions: what they print as, as far as the project's own text says."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from kvaudit.analyzers.source.ecmascript import calls, lookup
from kvaudit.analyzers.source.ecmascript.engine import MAX_DEPTH, MAX_NESTING, Engine, Frame
from kvaudit.analyzers.source.ecmascript.module import CLASSES, FUNCTIONS, parameters
from kvaudit.analyzers.source.ecmascript.origins import named
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import (
    NOTHING,
    Code,
    Hazard,
    Part,
    Shape,
    Value,
    limited,
    list_of,
    richer,
    text_of,
)
from kvaudit.core.document import VOLATILITY_OF, Evidence, Origin, Step
from kvaudit.core.sources import Span

_ESCAPES = re.compile(r"\\(u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r?\n|.)", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_OTHER_TRUTH = frozenset(("==", "===", "!=", "!==", "<", ">", "<=", ">=", "in", "instanceof"))


def evaluate(engine: Engine, node: Node, frame: Frame) -> Value:
    """Return what is known of an expression."""
    handler = _HANDLERS.get(node.kind)
    if handler is None or not engine.spend() or engine.nesting > MAX_NESTING:
        return NOTHING
    engine.nesting += 1
    try:
        return handler(engine, frame, node)
    finally:
        engine.nesting -= 1


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


def element(engine: Engine, frame: Frame, node: Node) -> Value:
    """Return an element of a list or an argument; a spread one stands for any number."""
    if node.kind == "spread_element" and node.kids:
        value = evaluate(engine, node.kids[0], frame)
        return replace(value, spread=True)
    return evaluate(engine, node, frame)


def result(engine: Engine, frame: Frame, code: Code, args: list[Value]) -> Value:
    """Return what a function gives when it is called."""
    node = code.node
    if frame.depth >= MAX_DEPTH or engine.calling.count(node) > 1 or node.kind in CLASSES:
        return NOTHING
    outer = code.frame
    inner = Frame(code.module, node, _arguments(code, args), outer, frame.depth + 1)
    engine.touched.add(node)
    engine.calling.append(node)
    value = NOTHING
    for given in code.module.returned(node):
        value = (
            richer(value, evaluate(engine, given, inner))
            if value is not NOTHING
            else evaluate(engine, given, inner)
        )
    engine.calling.pop()
    return value


def _arguments(code: Code, args: list[Value]) -> dict[str, Value]:
    """Return parameter names with what a call gives them, taken apart where they are."""
    given: dict[str, Value] = {}
    for param, value in zip(parameters(code.node), args, strict=False):
        if value.spread:
            break
        pattern = param.get("pattern") or param
        if pattern.kind == "assignment_pattern":
            pattern = pattern.get("left") or pattern
        if pattern.kind == "identifier":
            given[code.module.text(pattern)] = value
        elif pattern.kind == "array_pattern" and value.items is not None:
            names = (code.module.text(kid) for kid in pattern.kids)
            given.update(zip(names, value.items, strict=False))
        elif pattern.kind == "object_pattern" and value.fields is not None:
            for kid in pattern.kids:
                local = kid.get("value", "left") or kid
                key = code.module.text(kid.get("key") or local)
                if key in value.fields:
                    given[code.module.text(local)] = value.fields[key]
    return given


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


def sorted_list(engine: Engine, frame: Frame, node: Node, value: Value) -> Value:
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
    orders = ("discovery-order", "shuffled-examples", "set-order", "retrieval-order")

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


def _string(engine: Engine, frame: Frame, node: Node) -> Value:
    span = Span(node.start + 1, max(node.start + 1, node.end - 1))
    raw = frame.module.source.text[span.start : span.end]
    return text_of((literal(frame, span, unescaped(raw)),) if raw else ())


def template(engine: Engine, frame: Frame, node: Node) -> Value:
    """Return the text of a template literal, piece by piece."""
    parts: list[Part] = []
    at = node.start + 1
    for hole in (kid for kid in node.kids if kid.kind == "template_substitution"):
        _append_literal(frame, parts, at, hole.start)
        at = hole.end
        inner = next((kid for kid in hole.kids if kid.kind != "comment"), None)
        if inner is not None:
            parts += placed(frame, inner, evaluate(engine, inner, frame))
    _append_literal(frame, parts, at, node.end - 1)
    return text_of(parts)


def _append_literal(frame: Frame, parts: list[Part], start: int, end: int) -> None:
    if start < end:
        raw = frame.module.source.text[start:end]
        parts.append(literal(frame, Span(start, end), unescaped(raw)))


def _number(engine: Engine, frame: Frame, node: Node) -> Value:
    return text_of((literal(frame, node.span, frame.module.text(node)),))


def _inner(engine: Engine, frame: Frame, node: Node) -> Value:
    inner = next((kid for kid in node.kids if kid.kind != "comment"), None)
    return NOTHING if inner is None else evaluate(engine, inner, frame)


def _assertion(engine: Engine, frame: Frame, node: Node) -> Value:
    return evaluate(engine, node.kids[-1], frame) if node.kids else NOTHING


def _last(engine: Engine, frame: Frame, node: Node) -> Value:
    right = node.get("right")
    return NOTHING if right is None else evaluate(engine, right, frame)


def _binary(engine: Engine, frame: Frame, node: Node) -> Value:
    operator = node.get("operator")
    sign = frame.module.text(operator) if operator is not None else "+"
    left, right = node.get("left"), node.get("right")
    if left is None or right is None or sign in _OTHER_TRUTH:
        return NOTHING
    if sign == "+":
        return _sum(engine, frame, node)
    if sign == "&&":
        return evaluate(engine, right, frame)
    if sign in ("||", "??"):
        return richer(evaluate(engine, left, frame), evaluate(engine, right, frame))
    return _computed(engine, frame, node, (left, right))


def _computed(engine: Engine, frame: Frame, node: Node, operands: tuple[Node, ...]) -> Value:
    """Return a number that is computed: it changes as the operand that changes most."""
    parts = [p for o in operands for p in evaluate(engine, o, frame).parts if p.text is None]
    sure = [p for p in parts if p.evidence is not Evidence.NAME]
    if not sure:
        return constant(frame, node)
    worst = max(sure, key=lambda part: part.volatility)
    return again(frame, node, Value(parts=(worst,)))


def _sum(engine: Engine, frame: Frame, node: Node) -> Value:
    """Return a chain of additions, which nests to the left as deep as it is long."""
    operands: list[Node] = []
    at: Node | None = node
    while at is not None and at.kind == "binary_expression":
        operator, right = at.get("operator"), at.get("right")
        if operator is None or frame.module.text(operator) != "+" or right is None:
            break
        operands.append(right)
        at = at.get("left")
    if at is not None:
        operands.append(at)
    operands.reverse()
    values = [(o, evaluate(engine, o, frame)) for o in operands]
    if not any(_is_text(o, v) for o, v in values):
        numeric = any(o.kind == "number" for o in operands)
        moments = any(v.shape is Shape.MOMENT for _, v in values)
        if numeric or moments:
            return _computed(engine, frame, node, tuple(operands))
    return text_of(part for o, v in values for part in placed(frame, o, v))


def _is_text(node: Node, value: Value) -> bool:
    return node.kind != "number" and (value.shape is Shape.TEXT or len(value.parts) > 1)


def _ternary(engine: Engine, frame: Frame, node: Node) -> Value:
    branches = [node.get("consequence"), node.get("alternative")]
    values = [evaluate(engine, b, frame) for b in branches if b is not None]
    return richer(*values) if len(values) == 2 else NOTHING


def _array(engine: Engine, frame: Frame, node: Node) -> Value:
    items = []
    for kid in node.kids:
        if kid.kind == "comment":
            continue
        value = element(engine, frame, kid)
        if value.parts and value.sole is not None and not value.spread:
            value = again(frame, kid, value)
        items.append(value)
    engine.touched.add(node)
    inner = tuple(h for item in items if item.spread for h in item.hazards)
    return replace(list_of(items, inner), node=node, source=frame.module.source)


def _object(engine: Engine, frame: Frame, node: Node) -> Value:
    fields: dict[str, Value] = {}
    for kid in node.kids:
        if kid.kind == "pair":
            key, value = kid.get("key"), kid.get("value")
            if key is not None and value is not None:
                found = evaluate(engine, value, frame)
                sole = found.sole is not None
                fields[_key(frame, key)] = again(frame, value, found) if sole else found
        elif kid.kind == "shorthand_property_identifier":
            fields[frame.module.text(kid)] = lookup.name(engine, frame, kid)
        elif kid.kind == "spread_element":
            fields.update(element(engine, frame, kid).fields or {})
        elif kid.kind == "method_definition":
            key = kid.get("name")
            if key is not None:
                code = Code(frame.module, kid, frame)
                fields[_key(frame, key)] = Value(code=code, shape=Shape.CODE)
    engine.touched.add(node)
    return Value(fields=fields, shape=Shape.FIELDS, node=node, source=frame.module.source)


def _key(frame: Frame, node: Node) -> str:
    if node.kind == "computed_property_name":
        return frame.module.text(node)
    return frame.module.text(node).strip("\"'")


def _function(engine: Engine, frame: Frame, node: Node) -> Value:
    return Value(code=Code(frame.module, node, frame), shape=Shape.CODE)


def _subscript(engine: Engine, frame: Frame, node: Node) -> Value:
    target, index = node.get("object"), node.get("index")
    if target is None or index is None:
        return NOTHING
    value = evaluate(engine, target, frame)
    if index.kind in ("string", "number"):
        return lookup.taken(engine, frame, node, value, (frame.module.text(index).strip("\"'"),))
    chosen = evaluate(engine, index, frame)
    drawn = [
        p for p in chosen.parts if p.origin is Origin.RANDOM and p.evidence is not Evidence.NAME
    ]
    if drawn:
        return again(frame, node, Value(parts=(drawn[0],)))
    if value.fields:
        return richest(list(value.fields.values()))
    if value.items:
        return richest([item for item in value.items if not item.spread])
    return unknown(engine, frame, node, frame.module.dotted(target))


def richest(values: list[Value]) -> Value:
    """Return the one of several possible values that tells most."""
    best = NOTHING
    for value in values[:60]:
        best = value if best is NOTHING else richer(best, value)
    return best


def _incremented(engine: Engine, frame: Frame, node: Node) -> Value:
    return constant(frame, node)


def _class(engine: Engine, frame: Frame, node: Node) -> Value:
    return Value(code=Code(frame.module, node, frame), shape=Shape.CODE)


def _written_text(engine: Engine, frame: Frame, node: Node) -> Value:
    return limited_text(evaluate(engine, node, frame))


def limited_text(value: Value) -> Value:
    """Return a value as text."""
    return replace(value, parts=limited(value.printed), shape=Shape.TEXT, items=None, fields=None)


_HANDLERS: dict[str, Callable[[Engine, Frame, Node], Value]] = {
    "string": _string,
    "template_string": template,
    "number": _number,
    "identifier": lookup.name,
    "shorthand_property_identifier": lookup.name,
    "member_expression": lookup.member,
    "subscript_expression": _subscript,
    "binary_expression": _binary,
    "ternary_expression": _ternary,
    "parenthesized_expression": _inner,
    "as_expression": _inner,
    "satisfies_expression": _inner,
    "non_null_expression": _inner,
    "await_expression": _inner,
    "type_assertion": _assertion,
    "sequence_expression": _assertion,
    "assignment_expression": _last,
    "augmented_assignment_expression": _last,
    "update_expression": _incremented,
    "array": _array,
    "object": _object,
    "call_expression": calls.call,
    "new_expression": calls.new,
    **dict.fromkeys(FUNCTIONS, _function),
    **dict.fromkeys(CLASSES, _class),
}
