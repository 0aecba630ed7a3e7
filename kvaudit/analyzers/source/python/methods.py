"""Methods of texts, lists, sets and readings of the clock."""

from __future__ import annotations

import ast
from dataclasses import replace

from kvaudit.analyzers.source.python import templates
from kvaudit.analyzers.source.python.binding import bind
from kvaudit.analyzers.source.python.engine import Engine, Frame
from kvaudit.analyzers.source.python.moments import coarse, of_moment
from kvaudit.analyzers.source.python.origins import arising
from kvaudit.analyzers.source.python.placing import element_at, unknown
from kvaudit.analyzers.source.python.sequences import as_items, in_order, set_of
from kvaudit.analyzers.source.python.values import NOTHING, Shape, Value

SAME_TEXT = {
    "strip", "lstrip", "rstrip", "lower", "upper", "title", "capitalize", "encode", "decode",
    "expandtabs", "removeprefix", "removesuffix", "swapcase", "casefold", "zfill", "copy",
    "splitlines", "center", "ljust", "rjust", "translate", "to_string", "getvalue", "as_posix",
    "absolute", "resolve", "expanduser", "hex", "model_copy", "total_seconds", "items", "values",
}  # fmt: skip

_CHANGES = {
    "append",
    "extend",
    "insert",
    "add",
    "update",
    "sort",
    "setdefault",
    "appendleft",
    "write",
}


def method(
    engine: Engine,
    frame: Frame,
    node: ast.Call,
    receiver: Value,
    args: list[Value],
    keywords: dict[str, Value],
) -> Value | None:
    """Return what a method of text, a list, a set or a clock reading gives; None for others."""
    assert isinstance(node.func, ast.Attribute)
    name = node.func.attr
    if name in _CHANGES and _changed_list(engine, frame, node, receiver, args):
        return NOTHING
    if name == "join" and args and receiver.shape is not Shape.INSTANCE:
        return templates.joined(frame, node, receiver, args[0])
    if name in templates.FILLS:
        return templates.filled(engine, frame, node, receiver, args, keywords)
    if receiver.shape is Shape.MOMENT:
        return of_moment(node, name, receiver, args)
    if name == "replace" and len(args) >= 2:
        return templates.replaced(frame, node, receiver, args[0], args[1])
    if name in ("split", "rsplit", "partition") and receiver.parts:
        pieces = coarse(receiver) if args and args[0].text in ("T", " ") else receiver
        return replace(pieces, shape=Shape.TEXT)
    if name in SAME_TEXT and (
        receiver.shape in (Shape.TEXT, Shape.LIST, Shape.SET) or receiver.fields
    ):
        return receiver
    if name in ("keys", "difference", "union", "intersection", "symmetric_difference"):
        return set_of(frame, node, receiver) if receiver.shape is Shape.SET else None
    if name == "get" and args and args[0].text and receiver.shape is not Shape.INSTANCE:
        return _entry(engine, frame, node, receiver, args[0].text)
    return None


def _entry(engine: Engine, frame: Frame, node: ast.Call, receiver: Value, key: str) -> Value | None:
    """Return an entry of a dict; what stands in for a missing one says nothing of the others."""
    if receiver.fields is not None and key in receiver.fields:
        return receiver.fields[key]
    rows = arising("call", frame.module.dotted(node.func))
    return unknown(engine, frame, node, key) if rows is None else None


def _changed_list(
    engine: Engine, frame: Frame, node: ast.Call, receiver: Value, args: list[Value]
) -> bool:
    """Change the list that a method is called on; True where it was one."""
    assert isinstance(node.func, ast.Attribute)
    target = node.func.value
    if not isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
        return False
    name = node.func.attr
    if name == "sort":
        bind(engine, frame, target, in_order(receiver))
        return True
    if not args:
        return False
    old = receiver.items
    if old is None:
        if name not in ("append", "extend", "insert") or receiver.code is not None:
            return False
        old = (replace(receiver, spread=True),)
    last = args[-1]
    at_call = element_at(frame, node.args[-1], last)
    if name in ("extend", "update"):
        new = (*old, *as_items(last))
    elif name == "insert":
        new = (at_call, *old)
    else:
        new = (*old, at_call)
    hazards = receiver.hazards + (last.hazards if name == "extend" else ())
    bind(
        engine,
        frame,
        target,
        replace(
            receiver, parts=(), items=new[-300:] if name == "append" else new[:300], hazards=hazards
        ),
    )
    return True
