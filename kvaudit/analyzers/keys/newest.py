"""Keys of the newest message alone, where the model is sent the whole conversation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from kvaudit.analyzers.keys.lookups import Lookup, made_of
from kvaudit.analyzers.keys.scopes import Scope, values_given, walk
from kvaudit.analyzers.keys.seen import seen_at, short
from kvaudit.analyzers.naming import snake_case
from kvaudit.core.document import Observation

_MESSAGES = re.compile(r"(\w+_)?messages|contents")


def last_message(
    scope: Scope, lookup: Lookup, calls: Sequence[ast.Call], every: Sequence[Scope]
) -> Iterator[Observation]:
    """Yield keys of the newest message alone, where the model is sent all."""
    sends_all = any(
        isinstance(value, ast.Name) and _MESSAGES.fullmatch(snake_case(value.id))
        for call in calls
        for value in values_given(call)
    )
    if not sends_all:
        return
    places = made_of(scope, lookup, every)
    for where, made in places:
        for node in _with_given(where, made):
            if isinstance(node, ast.Subscript) and _is_last_of_messages(node):
                yield seen_at(
                    where,
                    node,
                    "key-without-context",
                    f"{short(where, node)} is the newest message, and the model is sent all",
                )
                return


def _with_given(scope: Scope, made: ast.expr, depth: int = 4) -> Iterator[ast.AST]:
    for node in walk(scope.module, made):
        yield node
        if depth and isinstance(node, ast.Name) and node.id not in scope.params:
            for value in scope.given(node.id):
                yield from _with_given(scope, value, depth - 1)


def _is_last_of_messages(node: ast.Subscript) -> bool:
    name = getattr(node.value, "id", getattr(node.value, "attr", ""))
    index = node.slice
    negative = isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub)
    return _MESSAGES.fullmatch(snake_case(name)) is not None and negative
