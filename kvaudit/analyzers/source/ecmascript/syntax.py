"""Kinds of nodes, and what stands where in a tree: functions, classes, scopes, loops."""

from __future__ import annotations

from collections.abc import Iterator

from kvaudit.analyzers.source.ecmascript.tree import Node

FUNCTIONS = frozenset((
    "arrow_function", "function_declaration", "function_expression", "generator_function",
    "generator_function_declaration", "method_definition",
))  # fmt: skip
BRANCHES = frozenset(("if_statement", "while_statement", "for_statement", "for_in_statement"))
CLASSES = frozenset(("class_declaration", "class", "abstract_class_declaration"))
LOOPS = frozenset(("for_statement", "for_in_statement", "while_statement", "do_statement"))
WRAPPERS = frozenset((
    "non_null_expression", "parenthesized_expression", "await_expression", "as_expression",
    "satisfies_expression",
))  # fmt: skip
"""What changes nothing of the value in it."""
_SCOPES = FUNCTIONS | frozenset((
    "program", "statement_block", "for_statement", "for_in_statement", "catch_clause",
    "switch_body", "class_static_block",
))  # fmt: skip


def parameters(function: Node) -> list[Node]:
    """Return a function's parameters, in order."""
    single = function.get("parameter")
    if single is not None:
        return [single]
    listed = function.get("parameters")
    return [n for n in listed.kids if n.kind != "comment"] if listed is not None else []


def function_around(node: Node) -> Node | None:
    """Return the function a node stands in; None at the file's own level."""
    return node.above(*FUNCTIONS)


def scope_around(node: Node) -> Node:
    """Return the scope a node stands in; the root at the file's own level."""
    around = node
    while around.parent is not None:
        around = around.parent
        if around.kind in _SCOPES:
            break
    return around


def own_nodes(function: Node) -> Iterator[Node]:
    """Yield what stands in a function, but not in a function or class inside it."""
    body = function.get("body")
    stack = [body] if body is not None else []
    while stack:
        node = stack.pop()
        yield node
        if node.kind not in FUNCTIONS and node.kind not in CLASSES:
            stack.extend(reversed(node.kids))


def returned(function: Node) -> list[Node]:
    """Return the expressions whose value a function gives."""
    body = function.get("body")
    if body is None:
        return []
    if body.kind != "statement_block":
        return [body]
    return [n.kids[0] for n in own_nodes(function) if n.kind == "return_statement" and n.kids]


def unwrapped(node: Node | None) -> Node | None:
    """Return the value in brackets, casts and the like; None of None."""
    while node is not None and node.kind in WRAPPERS and node.kids:
        node = node.kids[0]
    return node


def heritage(declared: Node) -> Node | None:
    """Return the name of the class that one extends."""
    after = next((kid for kid in declared.kids if kid.kind == "class_heritage"), None)
    clause = after.kids[0] if after is not None and after.kids else None
    named = (
        clause.get("value") if clause is not None and clause.kind == "extends_clause" else clause
    )
    return named if named is not None and named.kind == "identifier" else None
