"""What a function returns: followed once with open parameters, then filled by each call."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kvaudit.analyzers.source.python import lookup
from kvaudit.analyzers.source.python.engine import MAX_DEPTH, Engine, Frame, Phase, Unit, aged
from kvaudit.analyzers.source.python.evaluation import evaluate
from kvaudit.analyzers.source.python.fields import fields_of
from kvaudit.analyzers.source.python.module import Function
from kvaudit.analyzers.source.python.origins import named
from kvaudit.analyzers.source.python.parameters import (
    named_parameters,
    parameters_by_place,
    with_defaults,
)
from kvaudit.analyzers.source.python.values import (
    NOTHING,
    Code,
    Part,
    Shape,
    Value,
    changed,
    list_of,
)
from kvaudit.core.document import VOLATILITY_OF, Evidence

_SELF = ("self", "cls")


def opened(engine: Engine, code: Code, depth: int, unit: Unit | None = None) -> Frame:
    """Return the frame of a function whose parameters are left open."""
    node = code.node
    assert not isinstance(node, ast.ClassDef)
    env: dict[str, Value] = {}
    arguments = node.args
    for arg in named_parameters(arguments):
        env[arg.arg] = _parameter(engine, code, arg)
    if arguments.vararg is not None:
        env[arguments.vararg.arg] = _parameter(engine, code, arguments.vararg)
    if arguments.kwarg is not None:
        # Whoever calls decides the order of keyword arguments.
        env[arguments.kwarg.arg] = replace(
            _parameter(engine, code, arguments.kwarg), shape=Shape.WIRE
        )
    if code.owner is not None and arguments.args and arguments.args[0].arg in _SELF:
        env[arguments.args[0].arg] = Value(shape=Shape.INSTANCE, code=Code(code.module, code.owner))
    made = isinstance(node, Function) and node.name in ("__init__", "__post_init__")
    return Frame(
        module=code.module,
        env=env,
        phase=Phase.SESSION if made else Phase.CALL,
        unit=unit,
        owner=code.owner,
        closure=code.closure,
        depth=depth,
        switches=_switches(arguments),
        annotations={
            arg.arg: arg.annotation
            for arg in named_parameters(arguments)
            if arg.annotation is not None
        },
    )


def _switches(arguments: ast.arguments) -> dict[str, bool]:
    return {
        arg.arg: default.value
        for arg, default in with_defaults(arguments)
        if isinstance(default, ast.Constant) and isinstance(default.value, bool)
    }


def _parameter(engine: Engine, code: Code, arg: ast.arg) -> Value:
    said = named(arg.arg, engine.project.variables)
    part = Part(
        source=code.module.source,
        span=code.module.span(arg),
        expression=arg.arg,
        origin=said.origin,
        volatility=VOLATILITY_OF[said.origin],
        evidence=Evidence.NAME,
        tokens=said.tokens,
        param=arg.arg,
    )
    return Value(parts=(part,))


def body_result(engine: Engine, frame: Frame, code: Code) -> Value:
    """Follow a function's body and return what it returns."""
    from kvaudit.analyzers.source.python.statements import run

    node = code.node
    if isinstance(node, ast.Lambda):
        return evaluate(engine, frame, node.body)
    if isinstance(node, ast.ClassDef):
        return Value(shape=Shape.INSTANCE, code=code)
    run(engine, frame, node.body)
    if frame.yielded and frame.returned is None:
        # One that returns something besides tells of its progress in what it yields.
        return list_of(frame.yielded)
    result = frame.returned or NOTHING
    return aged(result, Phase.SESSION) if lookup.remembers(node) else result


def summary(engine: Engine, code: Code) -> Value:
    """Return what a function returns while its parameters are open; nothing in a recursion."""

    if code.owner is not None:
        # First, so that a method is the same whether it or its class was asked for.
        lookup.members_of(engine, code.module, code.owner)

    def followed() -> Value:
        return body_result(engine, opened(engine, code, depth=1), code)

    return engine.once.found(code.module, code.node, followed, NOTHING)


def apply(
    engine: Engine, code: Code, args: Sequence[Value], keywords: Mapping[str, Value], depth: int
) -> Value:
    """Return what a call gives."""
    if isinstance(code.node, ast.ClassDef):
        return Value(
            shape=Shape.INSTANCE, code=code, fields=fields_of(engine, code, args, keywords)
        )
    if depth >= MAX_DEPTH:
        return NOTHING
    filled = bound(engine, code, args, keywords)
    structured = any(
        value.items is not None or value.fields is not None or value.code is not None
        for value in filled.values()
    )
    if isinstance(code.node, ast.Lambda) or (structured and depth <= 1):
        frame = opened(engine, code, depth + 1)
        frame.env.update(filled)
        return body_result(engine, frame, code)
    return substituted(summary(engine, code), filled)


def bound(
    engine: Engine, code: Code, args: Sequence[Value], keywords: Mapping[str, Value]
) -> dict[str, Value]:
    """Return the parameters that a call fills, and those that have a default."""
    node = code.node
    if isinstance(node, ast.ClassDef):
        return {}
    names = [arg.arg for arg in parameters_by_place(node.args)]
    if names and names[0] in _SELF:
        names = names[1:]
    filled = dict(zip(names, args, strict=False))
    known = {*names, *(arg.arg for arg in node.args.kwonlyargs)}
    filled.update({name: value for name, value in keywords.items() if name in known})
    outside = Frame(module=code.module, env={}, phase=Phase.IMPORT, unit=None, depth=2)
    for arg, default in with_defaults(node.args):
        if arg.arg not in filled:
            value = evaluate(engine, outside, default)
            if value.parts:
                filled[arg.arg] = value
    return filled


def substituted(value: Value, filled: Mapping[str, Value]) -> Value:
    """Return a value with arguments in the place of parameters."""
    if not filled:
        return value
    alone = value.parts[0].param if len(value.parts) == 1 else None
    if alone in filled and alone is not None:
        return filled[alone]

    def fill(part: Part) -> tuple[Part, ...]:
        if part.param is None or part.param not in filled:
            return (part,)
        given = filled[part.param].printed
        return given if given else (part,)

    return changed(value, fill)
