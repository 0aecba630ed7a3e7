"""What a name holds after what is written to it: assignments, pushes, loops that add to it."""

from __future__ import annotations

import re
from dataclasses import replace

from kvaudit.analyzers.source.ecmascript import evaluate as values
from kvaudit.analyzers.source.ecmascript import pieces
from kvaudit.analyzers.source.ecmascript.bindings import Binding
from kvaudit.analyzers.source.ecmascript.engine import Engine, Frame
from kvaudit.analyzers.source.ecmascript.module import Module
from kvaudit.analyzers.source.ecmascript.syntax import FUNCTIONS, LOOPS, function_around
from kvaudit.analyzers.source.ecmascript.tree import Node
from kvaudit.analyzers.source.ecmascript.values import (
    NOTHING,
    Code,
    Value,
    kept,
    list_of,
    richer,
    text_of,
)

_HAS_NO_SYSTEM = re.compile(r"!(?!=).*[\"']system[\"']|!==?\s*[\"']system[\"']", re.DOTALL)
MAX_ROWS = 20
"""Elements of a list that a loop is followed over one by one."""


def written(engine: Engine, frame: Frame, node: Node, binding: Binding, value: Value) -> Value:
    """Return a parameter's value after what its function writes to it above a place."""
    writes = [w for w in binding.writes if w.end <= node.start and w.kind != "call_expression"]
    if not writes or (binding, frame) in engine.folding:
        return engine.folding.get((binding, frame), value)
    engine.folding[binding, frame] = value
    done = applied(engine, frame, binding, writes[:40], value)
    del engine.folding[binding, frame]
    return done


def applied(
    engine: Engine, frame: Frame, binding: Binding, writes: list[Node], value: Value
) -> Value:
    """Return a value after the writes to its name, in the order of the file."""
    for write in writes:
        owner = function_around(write)
        inside = (
            frame
            if owner is frame.function
            else Frame(frame.module, owner, outer=frame, depth=frame.depth)
        )
        engine.folding[binding, frame] = value
        loop, rows = _rows(engine, inside, write)
        for row in rows:
            engine.turns[loop] = row
            # A frame of its own: what is declared in the loop is another value on each turn.
            turn = replace(inside)
            if loop.kind in FUNCTIONS:
                turn.args = values.arguments(Code(frame.module, loop), [row])
            engine.folding[binding, turn] = value
            value = _after(engine, turn, binding, write, value)
            del engine.folding[binding, turn]
        if rows:
            del engine.turns[loop]
        else:
            value = _after(engine, inside, binding, write, value)
    return value


def _rows(engine: Engine, frame: Frame, write: Node) -> tuple[Node, list[Value]]:
    """Return the loop around a write, with what it goes over, where that is written out.

    A list of objects or functions, each of which makes a section of its own.
    """
    loop = next((a for a in write.ancestors() if a.kind in LOOPS or a.kind in FUNCTIONS), write)
    over = _gone_over(frame.module, loop)
    if over is None or loop in engine.turns:
        return write, []
    rows = list(values.evaluate(engine, over, frame).items or ())
    told = all(
        not row.spread and (row.fields is not None or row.items is not None or row.code)
        for row in rows
    )
    return loop, rows[:MAX_ROWS] if told else []


def _gone_over(module: Module, loop: Node) -> Node | None:
    """Return the list that a loop, or a function which is called with each element, goes over."""
    if loop.kind == "for_in_statement":
        return loop.get("right")
    given = loop.parent if loop.kind in FUNCTIONS else None
    call = given.parent if given is not None and given.kind == "arguments" else None
    called = call.get("function") if call is not None else None
    each = called.get("property") if called is not None else None
    if called is None or each is None or module.text(each) != "forEach":
        return None
    return called.get("object")


def _after(engine: Engine, frame: Frame, binding: Binding, write: Node, value: Value) -> Value:
    if write.kind == "call_expression":
        added = _added(engine, frame, write, value)
        return kept(added, at_import=False) if _is_put_once(frame.module, binding, write) else added
    left, right = write.get("left"), write.get("right")
    if left is None or right is None:
        return value
    new = values.evaluate(engine, right, frame)
    if left.kind != "identifier":
        return _with_field(frame, left, value, new)
    if write.kind == "augmented_assignment_expression":
        if "+" in frame.module.source.text[left.end : right.start]:
            return text_of((*value.printed, *pieces.placed(frame, right, new)))
        return richer(value, new)
    statement = write.parent
    certain = (
        statement is not None
        and statement.kind == "expression_statement"
        and statement.parent is binding.scope
    )
    return new if certain and new is not NOTHING else richer(new, value)


def _with_field(frame: Frame, left: Node, value: Value, new: Value) -> Value:
    key = left.get("property")
    depth = left.get("object")
    if key is None or depth is None or depth.kind != "identifier" or value.fields is None:
        return value
    return replace(value, fields={**value.fields, frame.module.text(key): new})


def _added(engine: Engine, frame: Frame, write: Node, value: Value) -> Value:
    """Return a list after something was pushed to it, in front of it, or it was sorted."""
    function, arguments = write.get("function"), write.get("arguments")
    assert function is not None
    method = frame.module.text(function.get("property") or function)
    target = function.get("object")
    if target is None or target.kind != "identifier" or arguments is None:
        return value
    if method == "sort":
        return pieces.sorted_list(frame, write, value)
    given = [values.element(engine, frame, n) for n in arguments.kids if n.kind != "comment"]
    if method == "splice":
        given = given[2:]
    if _is_repeated(write):
        given = [replace(g, spread=True) if "role" in (g.fields or {}) else g for g in given]
    old = value.items if value.items is not None else ()
    if value.items is None and value.parts:
        old = (replace(value, spread=True),)
    new = (*given, *old) if method == "unshift" else (*old, *given)
    inner = tuple(h for g in given if g.spread for h in g.hazards)
    return replace(
        list_of(new), hazards=value.hazards + inner, node=value.node, source=value.source
    )


def _is_put_once(module: Module, binding: Binding, write: Node) -> bool:
    """Whether a system message is put into a list that another object holds, which had none.

    It is there the next time. The body of an HTTP request comes anew with each.
    """
    held = binding.node.get("value")
    if held is None or held.kind != "member_expression" or "body" in module.text(held):
        return False
    test = write.above("if_statement", *FUNCTIONS)
    condition = test.get("condition") if test is not None else None
    return condition is not None and _HAS_NO_SYSTEM.search(module.text(condition)) is not None


def _is_repeated(write: Node) -> bool:
    """Whether a loop adds to a list, and so any number of messages."""
    around = next((a for a in write.ancestors() if a.kind in LOOPS or a.kind in FUNCTIONS), write)
    return around.kind in LOOPS
