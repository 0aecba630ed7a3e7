"""A turn that is built twice, once to be sent and once to be kept, and not in the same way."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvaudit.analyzers.source.ecmascript.code import observe, pair_value, requests, short
from kvaudit.analyzers.source.ecmascript.engine import Engine
from kvaudit.analyzers.source.ecmascript.syntax import function_around, unwrapped
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.core.document import Observation

MAX_NAMES = 60
"""Names that are followed backwards from the messages of one request."""
_LITERALS = frozenset(("true", "false", "string", "number", "null"))
_KEPT = re.compile(r"histor|stor|sav(e|ing)|persist|record", re.IGNORECASE)


def built_twice(engine: Engine) -> Iterator[Observation]:
    """Yield calls that make what is kept of a turn from what another one makes the sent turn of.

    Both name the same builder and give it the same, but for a literal that says which it is for.
    """
    for body in requests(engine):
        messages = pair_value(engine, body, "messages", "contents")
        owner = function_around(body)
        if messages is None or owner is None:
            continue
        made = [
            (node, call)
            for node in engine.module.declarators
            if function_around(node) is owner and (call := _call(node.get("value"))) is not None
        ]
        twins = [
            (a, b) for a in made for b in made if a is not b and _are_twins(engine, a[1], b[1])
        ]
        sent = _made_of(engine, messages) if twins else set()
        for (one, _), (other, call) in twins:
            name = other.get("name")
            kept = name is not None and _KEPT.search(engine.module.text(name)) is not None
            if one in sent and other not in sent and kept:
                detail = f"the turn is sent otherwise than {short(engine, call)} keeps it"
                yield observe(engine, call, "history-rewritten", detail)


def _call(value: Node | None) -> Node | None:
    called = unwrapped(value)
    return called if called is not None and called.kind == "call_expression" else None


def _are_twins(engine: Engine, one: Node, other: Node) -> bool:
    """Whether two calls differ in literals only, and give the same otherwise."""
    if engine.module.dotted(one) != engine.module.dotted(other):
        return False
    given = [call.get("arguments") for call in (one, other)]
    rows = [list(each.kids) if each is not None else [] for each in given]
    if len(rows[0]) != len(rows[1]) or len(rows[0]) < 2:
        return False
    apart = [
        pair
        for pair in zip(*rows, strict=True)
        if engine.module.text(pair[0]) != engine.module.text(pair[1])
    ]
    told = all(kid.kind in _LITERALS for pair in apart for kid in pair)
    return bool(apart) and told and len(apart) < len(rows[0])


def _made_of(engine: Engine, messages: Node) -> set[Node]:
    """Return the declarations that an expression is made of, by the names in it."""
    waiting, met = [messages], set[Node]()
    while waiting and len(met) < MAX_NAMES:
        for node in waiting.pop().walk():
            if node.kind not in ("identifier", "shorthand_property_identifier"):
                continue
            binding = engine.module.resolve(node, engine.module.text(node))
            if binding is None or binding.kind != "variable" or binding.node in met:
                continue
            met.add(binding.node)
            value = binding.node.get("value")
            waiting += [value] if value is not None else []
    return met
