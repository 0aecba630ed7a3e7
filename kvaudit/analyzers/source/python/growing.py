"""Lists of messages that a loop makes longer: what it adds is a conversation, not one message.

A loop is followed once. In it, such a list holds already what earlier rounds have added; behind
it, what was added stands there any number of times.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kvaudit.analyzers.source.python import lookup
from kvaudit.analyzers.source.python.engine import LASTS_A_SESSION, Engine, Frame
from kvaudit.analyzers.source.python.messages import has_roles, role_of
from kvaudit.analyzers.source.python.module import Function
from kvaudit.analyzers.source.python.placing import unknown
from kvaudit.analyzers.source.python.values import NOTHING, Code, Part, Value, changed
from kvaudit.core.document import Origin

Loop = ast.For | ast.AsyncFor | ast.While
_ADDS = ("append", "extend")


def with_earlier_rounds(engine: Engine, frame: Frame, loop: Loop) -> None:
    """Put what earlier rounds have added into lists of messages that a loop makes longer."""
    known = {name for name, value in frame.env.items() if has_roles(value)}
    if not known:
        return
    for target in (*_lengthened(loop), *_handed_on(engine, frame, loop)):
        name = frame.module.dotted(target)
        if name in known:
            value = frame.env[name]
            earlier = replace(unknown(engine, frame, target), spread=True)
            begun = value.items or ()
            if _sends(frame, loop, name):
                begun = tuple(_sent_again(begun))
            frame.env[name] = replace(value, items=(*begun, earlier))
            known.remove(name)


def _sends(frame: Frame, loop: Loop, name: str) -> bool:
    """Whether a loop hands a list on in each round, and does not only copy turns into it."""
    return any(
        frame.module.dotted(given) == name
        for call in ast.walk(loop)
        if isinstance(call, ast.Call)
        for given in (*call.args, *(k.value for k in call.keywords))
        if isinstance(given, ast.Name | ast.Attribute)
    )


def _sent_again(items: Sequence[Value]) -> Iterator[Value]:
    """Yield the messages that a loop begins with, which each round sends as they are.

    A whole conversation begins with them where no earlier turns are among them; of one that goes
    on only the turn that stands behind these is new, and no other has a text like it.
    """
    begins = max((at for at, item in enumerate(items) if item.spread), default=-1)

    def keep(part: Part) -> tuple[Part, ...]:
        if part.text is not None or part.is_hole or part.origin not in LASTS_A_SESSION:
            return (part,)
        return (part.of(LASTS_A_SESSION[part.origin] if begins < 0 else Origin.UNKNOWN),)

    for at, item in enumerate(items):
        yield changed(item, keep) if at > begins else item


def after_all_rounds(frame: Frame, before: Mapping[str, Value]) -> None:
    """Let the messages that a loop has added stand for any number of them."""
    for name, value in frame.env.items():
        start = before.get(name)
        if start is None or start is value or start.items is None or value.items is None:
            continue
        kept, more = value.items[: len(start.items)], value.items[len(start.items) :]
        if all(a is b for a, b in zip(kept, start.items, strict=False)) and any(map(role_of, more)):
            added = (replace(item, spread=True) for item in more if role_of(item) is not None)
            frame.env[name] = replace(value, items=(*kept, *added))


def _lengthened(node: ast.AST) -> Iterator[ast.Name | ast.Attribute]:
    """Yield the names and attributes that a loop or a function appends to."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            target = call.func.value
            if call.func.attr in _ADDS and isinstance(target, ast.Name | ast.Attribute):
                yield target


def _handed_on(engine: Engine, frame: Frame, loop: Loop) -> Iterator[ast.Name]:
    """Yield the names that a loop's body gives to a function which appends to them."""
    for statement in loop.body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call):
            continue
        given = [arg for arg in call.args if isinstance(arg, ast.Name)]
        code = _called(engine, frame, call.func) if given else None
        if code is None or not isinstance(code.node, Function):
            continue
        appended = {t.id for t in _lengthened(code.node) if isinstance(t, ast.Name)}
        own = [arg.arg for arg in code.node.args.args]
        own = own[1:] if own[:1] in (["self"], ["cls"]) else own
        yield from (
            arg
            for arg, name in zip(call.args, own, strict=False)
            if isinstance(arg, ast.Name) and name in appended
        )


def _called(engine: Engine, frame: Frame, func: ast.expr) -> Code | None:
    if isinstance(func, ast.Name):
        found = lookup.name(engine, frame, func.id)
    elif isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
        base = lookup.name(engine, frame, func.value.id) or NOTHING
        found = lookup.attribute(engine, frame, func, base)
    else:
        return None
    return found.code if found is not None else None
