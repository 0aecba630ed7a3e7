"""Rust's statements: what is bound, written into a string, and returned."""

from __future__ import annotations

import re

from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import NOTHING, Value, list_of, text_of
from kvaudit.analyzers.source.rust.macros import COMMENTS, arguments, formatted, macro_name
from kvaudit.analyzers.source.walking.file import Declared
from kvaudit.analyzers.source.walking.follow import evaluate, printed, written_into
from kvaudit.analyzers.source.walking.state import Walk

FUNCTIONS = frozenset(("function_item", "closure_expression"))
_MAPS = re.compile(r"\b(HashMap|HashSet)\b")


def is_map(written: str) -> bool:
    """Whether a type, or a value, is a map or set without an order."""
    return _MAPS.search(written) is not None


def block(walk: Walk, node: Node) -> Value:
    """Follow a block; its value is that of a last expression without a semicolon."""
    value = NOTHING
    kids = [kid for kid in node.kids if kid.kind not in COMMENTS]
    for kid in kids:
        last = _bare(walk, kid) if kid is kids[-1] else kid
        if last.kind in walk.language.expressions and kid is kids[-1]:
            value = evaluate(walk, last)
        else:
            statement(walk, kid)
    return value


def _bare(walk: Walk, node: Node) -> Node:
    """Return the expression of a statement without a semicolon: the grammar wraps ``if`` so."""
    if node.kind == "expression_statement" and node.kids and not walk.text(node).endswith(";"):
        return node.kids[0]
    return node


def statement(walk: Walk, node: Node) -> None:
    """Follow one statement and those in it."""
    if not walk.spend() or node.kind in FUNCTIONS:
        return
    if node.kind == "let_declaration":
        _let(walk, node)
    elif node.kind == "return_expression" and node.kids:
        walk.give(evaluate(walk, node.kids[0]))
    elif node.kind == "compound_assignment_expr":
        left, right = node.get("left"), node.get("right")
        if left is not None and right is not None:
            walk.add(walk.text(left).lstrip("*"), printed(walk, right))
    elif node.kind == "assignment_expression":
        left, right = node.get("left"), node.get("right")
        if left is not None and right is not None:
            walk.names[walk.text(left)] = evaluate(walk, right)
    elif node.kind in ("call_expression", "macro_invocation"):
        _write(walk, node)
    elif node.kind == "for_expression":
        _loop(walk, node)
    else:
        for kid in node.kids:
            statement(walk, kid)


def _let(walk: Walk, node: Node) -> None:
    name, value, kind = node.get("pattern"), node.get("value"), node.get("type")
    if value is not None:
        _write(walk, value)
    if name is None:  # `let _ = writeln!(...)` drops what writing returns
        return
    typed = walk.text(kind) if kind is not None else ""
    if is_map(typed + (walk.text(value)[:60] if value is not None else "")):
        walk.maps.add(walk.text(name))
    if value is None:
        return
    if name.kind == "tuple_pattern" and value.kind == "tuple_expression":
        for each, given in zip(name.kids, value.kids, strict=False):
            walk.names[walk.text(each)] = evaluate(walk, given)
    else:
        walk.names[walk.text(name)] = evaluate(walk, value)


def _write(walk: Walk, node: Node) -> None:
    """Follow a call or macro that writes text into a string."""
    if node.kind == "macro_invocation":
        if macro_name(walk, node) in ("write", "writeln"):
            args = arguments(walk, node)
            if len(args) > 1:
                target_name = walk.text(args[0]).removeprefix("&mut ").strip()
                walk.add(target_name, formatted(walk, args[1:]).printed)
        return
    function, given = node.get("function"), node.get("arguments")
    called = _callee(walk, function)
    if called is not None and given is not None and written_into(walk, called, given.kids):
        return
    target = function.get("value") if function is not None else None
    name = function.get("field") if function is not None else None
    if target is None or name is None:
        return
    method = walk.text(name)
    if method in ("push_str", "push", "extend") and given is not None and given.kids:
        added = printed(walk, given.kids[0])
        old = walk.names.get(walk.text(target), NOTHING)
        if old.items is not None:
            walk.names[walk.text(target)] = list_of((*old.items, text_of(added)))
        else:
            walk.add(walk.text(target), added)
    elif method in ("unwrap", "expect", "ok"):
        statement(walk, target)


def _callee(walk: Walk, function: Node | None) -> Declared | None:
    """Return the function of this file that is called: of ``f``, ``Self::f`` and ``self.f``."""
    if function is None:
        return None
    path, _, last = walk.text(function).replace(".", "::").rpartition("::")
    return walk.function(last) if path in ("", "self", "Self", walk.owner) else None


def _loop(walk: Walk, node: Node) -> None:
    over, body = node.get("value"), node.get("body")
    if over is None or body is None:
        return
    bare = re.sub(r"^&(mut )?|\.(iter|keys|values|into_iter|drain)\(\)$", "", walk.text(over))
    before = walk.hazards
    if bare in walk.maps:
        walk.hazards = walk.over_map(over, bare)
    for kid in body.kids:
        statement(walk, kid)
    walk.hazards = before


def body(walk: Walk, node: Node) -> None:
    """Follow a function's body: it gives what it returns, or its last expression."""
    walk.give(block(walk, node))
