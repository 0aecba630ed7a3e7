"""Go's expressions: what is known of the text that they print as."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from kvaudit.analyzers.source.ecmascript.dates import coarse, zone
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import NOTHING, Value, list_of, text_of
from kvaudit.analyzers.source.walking.follow import (
    arisen,
    changing,
    declared,
    evaluate,
    evaluate_all,
    items,
    joined,
    last_inside,
    result,
    total,
    variable,
)
from kvaudit.analyzers.source.walking.state import Walk

_VERB = re.compile(r"%(?!%)[-+# 0]*(\d+|\*)?(\.\d+)?[vTtbcdoOqxXUeEfFgGsp]")
_FINE_LAYOUT = re.compile(
    r"15|0?3:04|:04|:05|PM|RFC|Kitchen|Stamp|ANSIC|UnixDate|RubyDate|DateTime|TimeOnly"
)
_ZONE = re.compile(r"""["`]\W*(MST|[Z+-]?07:?0?0?)\W*["`]""")
_SAME = frozenset(
    (
        "TrimSpace",
        "ToLower",
        "ToUpper",
        "String",
        "Trim",
        "TrimRight",
        "TrimLeft",
        "string",
        "UTC",
        "Local",
        "In",
        "Add",
        "Sprint",
        "Output",
        "CombinedOutput",
    )
)
_DAY = frozenset(("Year", "Month", "Day", "Weekday", "YearDay", "Date"))


def dotted_name(walk: Walk, node: Node | None) -> str:
    """Return a name with dots, calls in it left out."""
    if node is None:
        return ""
    if node.kind == "selector_expression":
        left = dotted_name(walk, node.get("operand"))
        last = node.get("field")
        return f"{left}.{walk.text(last)}" if last is not None else left
    if node.kind == "call_expression":
        return dotted_name(walk, node.get("function"))
    return walk.text(node) if node.kind in ("identifier", "package_identifier") else ""


def _in_layout(value: Value, layout: str) -> Value:
    """Return a clock reading as a layout prints it."""
    if _FINE_LAYOUT.search(layout):
        return value
    return zone(value) if _ZONE.fullmatch(layout) else coarse(value)


def _string(walk: Walk, node: Node) -> Value:
    return walk.literal(node.start + 1, node.end - 1)


def _name(walk: Walk, node: Node) -> Value:
    return NOTHING if walk.text(node) in ("nil", "true", "false") else variable(walk, node)


def _selected(walk: Walk, node: Node) -> Value:
    dotted = dotted_name(walk, node)
    return arisen(walk, node, dotted) or declared(walk, dotted) or walk.unknown(node, dotted)


def _call(walk: Walk, node: Node) -> Value:
    function, given = node.get("function"), node.get("arguments")
    args = given.kids if given is not None else []
    dotted = dotted_name(walk, function)
    last = dotted.rsplit(".", 1)[-1]
    by_itself = arisen(walk, node, dotted)
    if by_itself is not None:
        return by_itself
    if dotted in ("fmt.Sprintf", "fmt.Errorf") and args:
        return formatted(walk, args)
    if dotted == "strings.Join" and args:
        return _join(walk, args)
    if dotted in ("strings.ReplaceAll", "strings.Replace") and len(args) > 2:
        return text_of((*evaluate(walk, args[0]).printed, *changing(walk, args[2])))
    if dotted == "append" and args:
        return list_of([*(evaluate(walk, args[0]).items or ()), *items(walk, args[1:])])
    called = walk.function(callee(walk, node, dotted))
    if called is not None:
        return result(walk, called, evaluate_all(walk, args))
    target = function.get("operand") if function is not None else None
    if target is not None:
        value = evaluate(walk, target)
        if last == "Format" and args:
            return _in_layout(value, walk.text(args[0]))
        if last in _DAY:
            return coarse(value)
        if value.printed and (
            last in _SAME or (value.sole is not None and last in ("Unix", "UnixMilli", "UnixNano"))
        ):
            return value
    if last in _SAME and args:
        return evaluate(walk, args[0])
    return walk.unknown(node, last)


def callee(walk: Walk, node: Node, dotted: str) -> str:
    """Return the function of this file that is called: ``section`` of ``a.section``."""
    method = node.above("method_declaration")
    receiver = method.get("receiver") if method is not None else None
    name = receiver.kids[0].get("name") if receiver is not None and receiver.kids else None
    left, dot, last = dotted.partition(".")
    return last if dot and name is not None and walk.text(name) == left else dotted


def formatted(walk: Walk, args: Sequence[Node]) -> Value:
    """Return a format filled with the arguments that follow it."""
    form = args[0]
    given = [(arg, evaluate(walk, arg)) for arg in args[1:]]
    if form.kind in ("interpreted_string_literal", "raw_string_literal"):
        return walk.filled(form.start + 1, form.end - 1, _VERB, given)
    known = evaluate(walk, form)
    only = known.parts[0] if len(known.parts) == 1 else None
    if only is not None and only.text is not None and only.source is walk.source:
        return walk.filled(only.span.start, only.span.end, _VERB, given)
    return text_of((*known.printed, *(p for a, v in given for p in walk.placed(a, v))))


def _join(walk: Walk, args: list[Node]) -> Value:
    value = evaluate(walk, args[0])
    if value.items is None:
        return value if value.printed else walk.unknown(args[0], dotted_name(walk, args[0]))
    return joined(value)


def _composite(walk: Walk, node: Node) -> Value:
    body = node.get("body")
    written = [kid.kids[0] for kid in body.kids if kid.kids] if body is not None else []
    return list_of(items(walk, written))


def _only(walk: Walk, node: Node) -> Value:
    return evaluate(walk, node.kids[0]) if len(node.kids) == 1 else NOTHING


EXPRESSIONS: Mapping[str, Callable[[Walk, Node], Value]] = {
    "interpreted_string_literal": _string,
    "raw_string_literal": _string,
    "binary_expression": total,
    "identifier": _name,
    "selector_expression": _selected,
    "call_expression": _call,
    "composite_literal": _composite,
    "expression_list": _only,
    "parenthesized_expression": last_inside,
    "unary_expression": last_inside,
    "type_conversion_expression": last_inside,
}
