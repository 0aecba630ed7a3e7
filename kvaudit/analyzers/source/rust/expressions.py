"""Rust's expressions: what is known of the text that they print as."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from kvaudit.analyzers.source.ecmascript.dates import coarse, zone
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import NOTHING, Value, list_of, richer, text_of
from kvaudit.analyzers.source.rust.macros import macro
from kvaudit.analyzers.source.rust.statements import block, statement
from kvaudit.analyzers.source.walking.follow import (
    arisen,
    changing,
    declared,
    elements,
    evaluate,
    evaluate_all,
    joined,
    last_inside,
    result,
    total,
    variable,
)
from kvaudit.analyzers.source.walking.state import Walk

_FINE = re.compile(r"%[-_0]?[HIklMSpPfXcTRrs]|%\.?\d*f|%\+")
_LETTER = re.compile(r"%[-_0:#.]*(\w)")
_SAME = frozenset((
    "to_string", "to_owned", "trim", "trim_end", "trim_start", "as_str", "clone", "unwrap",
    "unwrap_or_default", "expect", "into", "as_ref", "display", "to_lowercase", "to_uppercase",
    "to_string_lossy", "unwrap_or_else", "to_rfc3339", "to_rfc2822", "timestamp", "ok", "elapsed",
    "with_timezone", "into_owned", "as_bytes", "borrow", "as_deref", "timestamp_millis",
    "duration_since", "as_secs", "as_millis",
))  # fmt: skip
_DAY = frozenset(("date_naive", "date", "year", "month", "day", "weekday", "ordinal"))
_WRAPS = frozenset(
    ("Some", "Ok", "String::from", "Cow::from", "Cow::Borrowed", "Cow::Owned", "Arc::from")
)


def _path(walk: Walk, node: Node | None) -> str:
    return re.sub(r"\s+|<[^>]*>", "", walk.text(node)) if node is not None else ""


def _in_form(value: Value, form: str) -> Value:
    """Return a clock reading as a format of strftime prints it."""
    if _FINE.search(form):
        return value
    return zone(value) if set(_LETTER.findall(form)) <= {"z", "Z"} else coarse(value)


def _string(walk: Walk, node: Node) -> Value:
    inner = next((kid for kid in node.kids if kid.kind == "string_content"), None)
    return walk.literal(inner.start, node.kids[-1].end) if inner is not None else text_of(())


def _field(walk: Walk, node: Node) -> Value:
    return walk.unknown(node, _path(walk, node))


def _scoped(walk: Walk, node: Node) -> Value:
    path = _path(walk, node)
    dotted = path.replace("::", ".")
    return arisen(walk, node, path) or declared(walk, path) or walk.unknown(node, dotted)


def _call(walk: Walk, node: Node) -> Value:
    function, given = node.get("function"), node.get("arguments")
    args = given.kids if given is not None else []
    if function is None:
        return NOTHING
    if function.kind == "field_expression":
        return _method(walk, node, function, args)
    path = _path(walk, function)
    by_itself = arisen(walk, node, path)
    if by_itself is not None:
        return by_itself
    last = path.rsplit("::", 1)[-1]
    if path in _WRAPS and args:
        return evaluate(walk, args[0])
    if path in ("String::new", "Vec::new", "String::with_capacity", "Vec::with_capacity"):
        return list_of(()) if path.startswith("Vec") else text_of(())
    called = walk.function(last) or walk.function(path)
    if called is not None:
        return result(walk, called, evaluate_all(walk, args))
    return walk.unknown(node, last)


def _method(walk: Walk, node: Node, function: Node, args: list[Node]) -> Value:
    target, named = function.get("value"), function.get("field")
    if target is None or named is None:
        return NOTHING
    method = walk.text(named)
    value = evaluate(walk, target)
    if method == "format" and args:
        return _in_form(value, walk.text(args[0]))
    if method in _DAY:
        return coarse(value)
    if method in ("join", "concat") and value.items is not None:
        return joined(value)
    if method == "replace" and len(args) == 2:
        return text_of((*value.printed, *changing(walk, args[1])))
    if method in _SAME:
        return value
    called = walk.function(method) if walk.text(target) == "self" else None
    if called is not None:
        return result(walk, called, evaluate_all(walk, args))
    return walk.unknown(node, method)


def _either(walk: Walk, node: Node) -> Value:
    """Return the value of the branch that tells most; all of them are followed."""
    if node.kind == "match_expression":
        body = node.get("body")
        arms = [kid.get("value") for kid in body.kids] if body is not None else []
    else:
        otherwise = node.get("alternative")
        last = otherwise.kids[-1] if otherwise is not None and otherwise.kids else None
        arms = [node.get("consequence"), last]
    value = NOTHING
    for arm in arms:
        if arm is None:
            continue
        if arm.kind in EXPRESSIONS:
            value = richer(value, evaluate(walk, arm))
        else:
            statement(walk, arm)
    return value


EXPRESSIONS: Mapping[str, Callable[[Walk, Node], Value]] = {
    "string_literal": _string,
    "raw_string_literal": _string,
    "identifier": variable,
    "field_expression": _field,
    "scoped_identifier": _scoped,
    "call_expression": _call,
    "macro_invocation": macro,
    "reference_expression": last_inside,
    "parenthesized_expression": last_inside,
    "try_expression": last_inside,
    "await_expression": last_inside,
    "binary_expression": total,
    "array_expression": elements,
    "block": block,
    "if_expression": _either,
    "match_expression": _either,
}
