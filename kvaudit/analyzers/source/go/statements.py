"""Go's statements: what is assigned, written into a builder, and returned."""

from __future__ import annotations

import re

from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import NOTHING
from kvaudit.analyzers.source.go.expressions import callee, dotted_name, formatted
from kvaudit.analyzers.source.walking.follow import evaluate, printed, written_into
from kvaudit.analyzers.source.walking.state import Walk

FUNCTIONS = frozenset(("function_declaration", "method_declaration", "func_literal"))
_WRITES = frozenset(("WriteString", "Write", "WriteByte", "WriteRune"))
_SORTS = re.compile(r"\b(sort|slices)\.\w*Sort|sort\.Strings|sort\.Slice")


def statement(walk: Walk, node: Node) -> None:
    """Follow one statement and those in it."""
    if not walk.spend() or node.kind in FUNCTIONS:
        return
    kind = node.kind
    if kind in ("short_var_declaration", "assignment_statement"):
        _assign(walk, node)
    elif kind == "var_spec" or kind == "const_spec":
        _declare(walk, node)
    elif kind == "expression_statement" and node.kids:
        _write(walk, node.kids[0])
    elif kind == "return_statement":
        for listed in node.kids:
            if listed.kids:
                walk.give(evaluate(walk, listed.kids[0]))
    elif kind == "for_statement":
        _loop(walk, node)
    else:
        for kid in node.kids:
            statement(walk, kid)


def _assign(walk: Walk, node: Node) -> None:
    left, right, sign = node.get("left"), node.get("right"), node.get("operator")
    if left is None or right is None or not left.kids or not right.kids:
        return
    for target, given in zip(left.kids, right.kids, strict=False):
        name = walk.text(target)
        value = evaluate(walk, given)
        if sign is not None and walk.text(sign) == "+=":
            walk.add(name, walk.placed(given, value))
        elif value is not NOTHING:
            walk.names[name] = value
        if is_map(walk.text(given)):
            walk.maps.add(name)


def is_map(written: str) -> bool:
    """Whether a type, or a value, is a map."""
    return written.startswith(("map[", "make(map["))


def _declare(walk: Walk, node: Node) -> None:
    name, value, kind = node.get("name"), node.get("value"), node.get("type")
    if name is None:
        return
    if kind is not None and is_map(walk.text(kind)):
        walk.maps.add(walk.text(name))
    if value is not None and value.kids:
        walk.names[walk.text(name)] = evaluate(walk, value.kids[0])


def _write(walk: Walk, call: Node) -> None:
    """Follow a call that writes text into a builder."""
    function, given = call.get("function"), call.get("arguments")
    if call.kind != "call_expression" or function is None or given is None:
        return
    dotted = dotted_name(walk, function)
    last = dotted.rsplit(".", 1)[-1]
    called = walk.function(callee(walk, call, dotted))
    if called is not None and written_into(walk, called, given.kids):
        return
    target = function.get("operand")
    if last in _WRITES and target is not None and given.kids:
        walk.add(walk.text(target), printed(walk, given.kids[0]))
    elif dotted in ("fmt.Fprintf", "fmt.Fprint", "fmt.Fprintln") and len(given.kids) > 1:
        name = walk.text(given.kids[0]).lstrip("&")
        walk.add(name, formatted(walk, given.kids[1:]).printed)


def _loop(walk: Walk, node: Node) -> None:
    clause = next((kid for kid in node.kids if kid.kind == "range_clause"), None)
    over = clause.get("right") if clause is not None else None
    body = node.get("body")
    if body is None:
        return
    before = walk.hazards
    if over is not None and walk.text(over) in walk.maps and not _only_collects(walk, body):
        walk.hazards = walk.over_map(over, walk.text(over))
    statement(walk, body)
    walk.hazards = before


def _only_collects(walk: Walk, body: Node) -> bool:
    """Whether a loop gathers keys, which are then sorted."""
    return "append(" in walk.text(body) and _SORTS.search(walk.source.text) is not None
