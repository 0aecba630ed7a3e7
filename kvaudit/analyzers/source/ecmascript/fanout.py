"""Requests that start together, though each would write the same prefix."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvaudit.analyzers.source.ecmascript.code import last_name, observe, short
from kvaudit.analyzers.source.ecmascript.engine import Engine
from kvaudit.analyzers.source.ecmascript.syntax import FUNCTIONS, function_around, own_nodes
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.core.document import Observation

MAX_CALLS = 3
"""Calls inside calls that are followed to the one that sends."""
_MARK = re.compile(r"cache_?[cC]ontrol|cachePoint|promptCacheKey")
_TOGETHER = ("Promise.all", "Promise.allSettled")
_EACH = ("map", "flatMap")


def fanned_out(engine: Engine) -> Iterator[Observation]:
    """Yield parallel requests that share a marked prefix which none of them has written yet."""
    for node in engine.module.calls:
        if engine.module.dotted(node.get("function")) not in _TOGETHER:
            continue
        for mapped in node.walk():
            callback = _callback(engine, mapped)
            if callback is None:
                continue
            senders = _senders(engine, callback, MAX_CALLS)
            if senders and not _written_before(engine, node, senders):
                detail = f"{short(engine, node)} starts them all at once"
                yield observe(engine, node, "fan-out-before-write", detail)
                break


def _callback(engine: Engine, node: Node) -> Node | None:
    """Return the function that a map calls with each element, or the name of it."""
    given = node.get("arguments") if node.kind == "call_expression" else None
    if given is None or not given.kids or last_name(engine, node.get("function")) not in _EACH:
        return None
    return given.kids[0]


def _senders(engine: Engine, called: Node, depth: int) -> set[Node]:
    """Return the functions on the way from a callback to a request with a marked prefix."""
    function = called if called.kind in FUNCTIONS else _function_named(engine, called)
    if function is None or depth == 0:
        return set()
    if _MARK.search(engine.module.text(function)):
        return {function}
    for node in own_nodes(function):
        if node.kind == "call_expression":
            inner = node.get("function")
            found = _senders(engine, inner, depth - 1) if inner is not None else set()
            if found:
                return {function, *found}
    return set()


def _function_named(engine: Engine, name: Node) -> Node | None:
    """Return the function of this file that a name stands for."""
    binding = engine.module.resolve(name, engine.module.text(name))
    if binding is None:
        return None
    held = binding.node.get("value") if binding.kind == "variable" else binding.node
    return held if held is not None and held.kind in FUNCTIONS else None


def _written_before(engine: Engine, node: Node, senders: set[Node]) -> bool:
    """Whether one of the functions is called alone first, which writes the prefix."""
    around = function_around(node)
    for other in own_nodes(around) if around is not None else engine.module.root.walk():
        if other.start >= node.start or other.kind != "call_expression":
            continue
        named = other.get("function")
        if named is not None and _function_named(engine, named) in senders:
            return True
    return False
