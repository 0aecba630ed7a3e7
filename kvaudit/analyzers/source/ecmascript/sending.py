"""Of what the messages of a file's requests are made: lists that are sent, followed backwards."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvaudit.analyzers.source.ecmascript.bindings import Binding
from kvaudit.analyzers.source.ecmascript.code import (
    PREPARES_STEP,
    last_name,
    name_of,
    pair_value,
    requests,
)
from kvaudit.analyzers.source.ecmascript.engine import Engine
from kvaudit.analyzers.source.ecmascript.syntax import (
    CLASSES,
    FUNCTIONS,
    WRAPPERS,
    function_around,
    parameters,
)
from kvaudit.analyzers.source.ecmascript.tree import Node

MAX_NODES = 400
"""Expressions that are followed for one file; a request is made of a dozen."""
_ASKS = re.compile(
    r"(\w+\.)*\w*(llm|model|agent|chain|runnable)\w*\.(invoke|stream|streamEvents|batch)",
    re.IGNORECASE,
)
_SAME_ROWS = frozenset((
    "slice", "filter", "map", "flatMap", "concat", "reverse", "toReversed", "flat", "splice",
))  # fmt: skip
"""Methods whose result holds what the list held."""


def sent_lists(engine: Engine) -> set[Node]:
    """Return the expressions whose elements go into the messages of a request."""
    waiting = [
        value
        for body in requests(engine)
        if (value := pair_value(engine, body, "messages", "contents")) is not None
    ]
    waiting += _invoked(engine)
    waiting += _of_steps(engine)
    waiting += _written_out(engine)
    met: set[Node] = set()
    while waiting and len(met) < MAX_NODES:
        node = waiting.pop()
        if node not in met:
            met.add(node)
            waiting += _made_of(engine, node)
    return met


def _written_out(engine: Engine) -> Iterator[Node]:
    """Yield lists with a system message in them, or the names that they are given."""
    for node in engine.module.arrays:
        if _has_system(engine, node):
            held = node.parent.get("name") if node.parent is not None else None
            yield held if held is not None and held.kind == "identifier" else node


def _has_system(engine: Engine, node: Node) -> bool:
    """Whether a list is written out with a system message in it: made to be sent, wherever."""
    roles = (pair_value(engine, kid, "role") for kid in node.kids if kid.kind == "object")
    return any(
        role is not None and engine.module.text(role).strip("\"'") in ("system", "developer")
        for role in roles
    )


def _invoked(engine: Engine) -> Iterator[Node]:
    """Yield lists that a model is called with alone, as LangChain's are: ``llm.invoke(rows)``."""
    for call in engine.module.calls:
        given = call.get("arguments")
        first = given.kids[0] if given is not None and given.kids else None
        if first is None or first.kind not in ("identifier", "array", "call_expression"):
            continue
        if _ASKS.fullmatch(engine.module.dotted(call)):
            yield first


def _of_steps(engine: Engine) -> Iterator[Node]:
    """Yield the messages that a step is given in place of those so far."""
    for node in engine.module.objects:
        value = pair_value(engine, node, "messages")
        owner = function_around(node) if value is not None else None
        if value is not None and owner is not None and name_of(engine, owner) in PREPARES_STEP:
            yield value


def _made_of(engine: Engine, node: Node) -> Iterator[Node]:
    """Yield the expressions that give an expression its elements."""
    if node.kind in ("identifier", "shorthand_property_identifier"):
        yield from _held_by(engine, node)
    elif node.kind == "member_expression":
        yield from _kept_as(engine, node)
    elif node.kind in WRAPPERS:
        yield from node.kids[:1]
    elif node.kind == "ternary_expression":
        yield from (kid for kid in (node.get("consequence"), node.get("alternative")) if kid)
    elif node.kind == "array":
        yield from (kid.kids[0] for kid in node.kids if kid.kind == "spread_element" and kid.kids)
    elif node.kind == "call_expression":
        yield from _given_to(engine, node)


def _held_by(engine: Engine, name: Node) -> Iterator[Node]:
    """Yield what a variable was declared as, and what is assigned or pushed to it."""
    binding = engine.module.resolve(name, engine.module.text(name))
    if binding is not None and binding.kind == "param":
        yield from _passed_as(engine, binding)
    if binding is None or binding.kind != "variable" or binding.path:
        return
    first = binding.node.get("value")
    if first is not None:
        yield first
    for write in binding.writes:
        left, right, given = write.get("left"), write.get("right"), write.get("arguments")
        if right is not None and left is not None and left.kind == "identifier":
            yield right
        loop = write.above("for_in_statement", *FUNCTIONS) if given is not None else None
        over = loop.get("right") if loop is not None else None
        if over is not None:
            yield over
        for kid in given.kids if given is not None else ():
            if kid.kind == "spread_element" and kid.kids:
                yield kid.kids[0]


def _passed_as(engine: Engine, binding: Binding) -> Iterator[Node]:
    """Yield what calls in the file give as a parameter, or as a field that it is taken from."""
    name = name_of(engine, binding.scope)
    places = [at for at, one in enumerate(parameters(binding.scope)) if one is binding.node]
    for call in engine.module.calls if name and places and len(binding.path) < 2 else ():
        called, given = call.get("function"), call.get("arguments")
        if called is None or given is None or len(given.kids) <= places[0]:
            continue
        if engine.module.text(called) in (name, f"this.{name}"):
            value = given.kids[places[0]]
            found = pair_value(engine, value, *binding.path) if binding.path else value
            if found is not None:
                yield found


def _kept_as(engine: Engine, member: Node) -> Iterator[Node]:
    """Yield what the class around a place assigns to a member of its own."""
    written = engine.module.text(member)
    around = member.above(*CLASSES)
    for place in engine.module.assignments if written.startswith("this.") else ():
        left, right = place.get("left"), place.get("right")
        if left is None or right is None or engine.module.text(left) != written:
            continue
        if place.above(*CLASSES) is around:
            yield right


def _given_to(engine: Engine, call: Node) -> Iterator[Node]:
    """Yield the list that a method is called on, or those that a function is given or returns."""
    function, given = call.get("function"), call.get("arguments")
    if function is None:
        return
    if function.kind == "member_expression" and last_name(engine, function) in _SAME_ROWS:
        target = function.get("object")
        if target is not None:
            yield target
        return
    for kid in given.kids if given is not None else ():
        if kid.kind in ("identifier", "call_expression", "array") or kid.kind in WRAPPERS:
            yield kid
    made_by = _method(engine, function)
    binding = engine.module.resolve(function, engine.module.text(function))
    if binding is not None:
        made_by = binding.node.get("value") if binding.kind == "variable" else binding.node
    if made_by is not None and made_by.kind in FUNCTIONS:
        yield from engine.module.returned(made_by)


def _method(engine: Engine, called: Node) -> Node | None:
    """Return the method of the class around a place that it calls: ``this.build()``."""
    body = around.get("body") if (around := called.above(*CLASSES)) is not None else None
    for kid in body.kids if body is not None else ():
        name = kid.get("name")
        if name is not None and engine.module.text(called) == f"this.{engine.module.text(name)}":
            return kid if kid.kind in FUNCTIONS else None
    return None
