"""Expressions: what they print as, as far as the project's own text says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kvaudit.analyzers.source.ecmascript import calls, lookup, members, pieces, sums
from kvaudit.analyzers.source.ecmascript.engine import MAX_DEPTH, MAX_NESTING, Engine, Frame
from kvaudit.analyzers.source.ecmascript.syntax import CLASSES, FUNCTIONS, parameters
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import (
    NOTHING,
    Code,
    Shape,
    Value,
    list_of,
    richer,
    text_of,
)
from kvaudit.analyzers.source.parts import Part
from kvaudit.core.document import Evidence, Origin
from kvaudit.core.sources import Span


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
    inner = Frame(code.module, node, arguments(code, args), outer, frame.depth + 1)
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


def arguments(code: Code, args: list[Value]) -> dict[str, Value]:
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


def _string(engine: Engine, frame: Frame, node: Node) -> Value:
    span = Span(node.start + 1, max(node.start + 1, node.end - 1))
    raw = frame.module.source.text[span.start : span.end]
    return text_of((pieces.literal(frame, span, pieces.unescaped(raw)),) if raw else ())


def template(engine: Engine, frame: Frame, node: Node) -> Value:
    """Return the text of a template literal, piece by piece."""
    parts: list[Part] = []
    at = node.start + 1
    for hole in (kid for kid in node.kids if kid.kind == "template_substitution"):
        _append_literal(frame, parts, at, hole.start)
        at = hole.end
        inner = next((kid for kid in hole.kids if kid.kind != "comment"), None)
        if inner is not None:
            parts += pieces.placed(frame, inner, evaluate(engine, inner, frame))
    _append_literal(frame, parts, at, node.end - 1)
    return text_of(parts)


def _append_literal(frame: Frame, parts: list[Part], start: int, end: int) -> None:
    if start < end:
        raw = frame.module.source.text[start:end]
        parts.append(pieces.literal(frame, Span(start, end), pieces.unescaped(raw)))


def _number(engine: Engine, frame: Frame, node: Node) -> Value:
    return text_of((pieces.literal(frame, node.span, frame.module.text(node)),))


def _inner(engine: Engine, frame: Frame, node: Node) -> Value:
    inner = next((kid for kid in node.kids if kid.kind != "comment"), None)
    return NOTHING if inner is None else evaluate(engine, inner, frame)


def _assertion(engine: Engine, frame: Frame, node: Node) -> Value:
    return evaluate(engine, node.kids[-1], frame) if node.kids else NOTHING


def _last(engine: Engine, frame: Frame, node: Node) -> Value:
    right = node.get("right")
    return NOTHING if right is None else evaluate(engine, right, frame)


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
            value = pieces.again(frame, kid, value)
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
                fields[_key(frame, key)] = pieces.again(frame, value, found) if sole else found
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
        return members.taken(engine, frame, node, value, (frame.module.text(index).strip("\"'"),))
    chosen = evaluate(engine, index, frame)
    drawn = [
        p for p in chosen.parts if p.origin is Origin.RANDOM and p.evidence is not Evidence.NAME
    ]
    if drawn:
        return pieces.again(frame, node, Value(parts=(drawn[0],)))
    if value.fields:
        return richest(list(value.fields.values()))
    if value.items:
        return richest([item for item in value.items if not item.spread])
    return pieces.unknown(engine, frame, node, frame.module.dotted(target))


def richest(values: list[Value]) -> Value:
    """Return the one of several possible values that tells most."""
    best = NOTHING
    for value in values[:60]:
        best = value if best is NOTHING else richer(best, value)
    return best


def _incremented(engine: Engine, frame: Frame, node: Node) -> Value:
    return pieces.constant(frame, node)


def _class(engine: Engine, frame: Frame, node: Node) -> Value:
    return Value(code=Code(frame.module, node, frame), shape=Shape.CODE)


_HANDLERS: dict[str, Callable[[Engine, Frame, Node], Value]] = {
    "string": _string,
    "template_string": template,
    "number": _number,
    "identifier": lookup.name,
    "shorthand_property_identifier": lookup.name,
    "member_expression": members.member,
    "subscript_expression": _subscript,
    "binary_expression": sums.binary,
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
