"""Statements: what a function's names stand for when it returns."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from kvaudit.analyzers.source.python.binding import bind
from kvaudit.analyzers.source.python.engine import Engine, Filled, Frame, Phase, aged
from kvaudit.analyzers.source.python.evaluation import evaluate
from kvaudit.analyzers.source.python.fallbacks import asked_for, keep_given
from kvaudit.analyzers.source.python.growing import after_all_rounds, with_earlier_rounds
from kvaudit.analyzers.source.python.module import Function
from kvaudit.analyzers.source.python.placing import unknown
from kvaudit.analyzers.source.python.replacing import marks_put_in
from kvaudit.analyzers.source.python.sequences import element
from kvaudit.analyzers.source.python.sums import plus
from kvaudit.analyzers.source.python.template_files import opened_file
from kvaudit.analyzers.source.python.turns_behind import conversation_of
from kvaudit.analyzers.source.python.values import Code, Part, Shape, Value, list_of, richer
from kvaudit.core.document import VOLATILITY_OF, Evidence, Origin, Step

_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def run(engine: Engine, frame: Frame, body: Sequence[ast.stmt]) -> None:
    """Follow statements in order; both sides of a branch are taken."""
    for node in body:
        if not engine.spend():
            return
        _step(engine, frame, node)


def _step(engine: Engine, frame: Frame, node: ast.stmt) -> None:
    if isinstance(node, ast.Assign):
        value = evaluate(engine, frame, node.value)
        for target in node.targets:
            _assign(engine, frame, target, value, node.value)
    elif isinstance(node, ast.AnnAssign):
        if node.value is not None:
            value = evaluate(engine, frame, node.value)
            _assign(engine, frame, node.target, value, node.value)
    elif isinstance(node, ast.AugAssign):
        _augmented(engine, frame, node)
    elif isinstance(node, ast.Expr):
        evaluate(engine, frame, node.value)
    elif isinstance(node, ast.Return):
        value = evaluate(engine, frame, node.value)
        frame.returned = value if frame.returned is None else richer(frame.returned, value)
        if frame.unit is not None and node.value is not None:
            frame.unit.returns.append((node.value, value))
    elif isinstance(node, Function):
        code = Code(frame.module, node, None, frame.env)
        frame.env[node.name] = Value(shape=Shape.CODE, code=code)
        if frame.unit is not None:
            engine.nested.append(code)
    else:
        _compound(engine, frame, node)


def _compound(engine: Engine, frame: Frame, node: ast.stmt) -> None:
    if isinstance(node, ast.If):
        evaluate(engine, frame, node.test)
        before = dict(frame.env)
        _branches(engine, frame, [node.body, node.orelse])
        missing = asked_for(node.test)
        for name in _made_when_missing(frame, missing):
            frame.env[name] = aged(frame.env[name], Phase.SESSION)
        if isinstance(missing, ast.Name):
            keep_given(frame, before, [missing.id])
    elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
        _loop(engine, frame, node)
    elif isinstance(node, ast.With | ast.AsyncWith):
        for item in node.items:
            value = evaluate(engine, frame, item.context_expr)
            value = opened_file(engine, frame, item.context_expr) or value
            if item.optional_vars is not None:
                bind(engine, frame, item.optional_vars, value)
        run(engine, frame, node.body)
    elif isinstance(node, ast.Try):
        run(engine, frame, node.body)
        before = dict(frame.env)
        _branches(engine, frame, [[], *(handler.body for handler in node.handlers)])
        keep_given(frame, before, before)
        run(engine, frame, node.orelse)
        run(engine, frame, node.finalbody)
    elif isinstance(node, ast.Match):
        evaluate(engine, frame, node.subject)
        _branches(engine, frame, [[], *(case.body for case in node.cases)])


def _made_when_missing(frame: Frame, missing: ast.expr | None) -> list[str]:
    """Return attributes that are made where they are missing, and kept from then on."""
    name = frame.module.dotted(missing) if isinstance(missing, ast.Attribute) else ""
    return [name] if name in frame.env else []


def _assign(
    engine: Engine, frame: Frame, target: ast.expr, value: Value, written: ast.expr
) -> None:
    bind(engine, frame, target, value)
    _note(frame, target, value, written)


def _note(frame: Frame, target: ast.expr, value: Value, written: ast.expr) -> None:
    """Keep a text that was given a name, in case the name is one of prompts."""
    if frame.unit is None:
        return
    name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", None)
    into = conversation_of(target)
    if into is not None:
        name = name or "content"
    if name is not None and (value.shape is Shape.TEXT or into is not None):
        frame.unit.texts.append(Filled(name, written, value, loops=frame.loops, into=into))


def _augmented(engine: Engine, frame: Frame, node: ast.AugAssign) -> None:
    added = evaluate(engine, frame, node.value)
    before = evaluate(engine, frame, node.target)
    if not isinstance(node.op, ast.Add | ast.Sub):
        return
    if added.literal is not None:
        if frame.loops and isinstance(node.target, ast.Name | ast.Attribute):
            bind(engine, frame, node.target, counter(frame, node.target))
        return
    total = plus(frame, node.target, before, node.value, added)
    _assign(engine, frame, node.target, total, node.value)


def counter(frame: Frame, node: ast.expr) -> Value:
    """Return what counts the rounds of the innermost loop."""
    span = frame.module.span(node)
    part = Part(
        source=frame.module.source,
        span=span,
        expression=frame.module.written(node),
        origin=Origin.COUNTER,
        volatility=VOLATILITY_OF[Origin.COUNTER],
        evidence=Evidence.DATAFLOW,
        trail=(Step(source=frame.module.source, span=span, label="counts rounds of a loop"),),
        loop=frame.loops[-1] if frame.loops else None,
    )
    return Value(parts=(part,))


def _loop(engine: Engine, frame: Frame, node: ast.For | ast.AsyncFor | ast.While) -> None:
    before = dict(frame.env)
    outside = frame.loops
    if isinstance(node, ast.While):
        evaluate(engine, frame, node.test)
        frame.loops = (*outside, node)
    else:
        source = evaluate(engine, frame, node.iter)
        marks = list(marks_put_in(frame, node, source))
        for mark, value in marks:
            bind(engine, frame, node.target, list_of((mark, value)))
            run(engine, frame, node.body)
        if marks:
            return
        frame.loops = (*outside, node)
        _iterate(engine, frame, node, source)
        hazards = source.hazards
    with_earlier_rounds(engine, frame, node)
    run(engine, frame, node.body)
    after_all_rounds(frame, before)
    frame.loops = outside
    if not isinstance(node, ast.While) and hazards:
        # What was put together in the loop has the order of what was looped over.
        for name, value in frame.env.items():
            if before.get(name) is not value and (
                value.items is not None or value.shape is Shape.TEXT
            ):
                new = tuple(h for h in hazards if h not in value.hazards)
                frame.env[name] = replace(value, hazards=value.hazards + new)
    run(engine, frame, node.orelse)


def _iterate(engine: Engine, frame: Frame, node: ast.For | ast.AsyncFor, source: Value) -> None:
    called = frame.module.dotted(node.iter) if isinstance(node.iter, ast.Call) else ""
    target = node.target
    if called == "enumerate" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        bind(engine, frame, target.elts[0], counter(frame, target.elts[0]))
        bind(engine, frame, target.elts[1], element(engine, frame, source, target.elts[1]))
    elif called == "range":
        bind(engine, frame, target, counter(frame, target))
    elif isinstance(target, ast.Tuple | ast.List):
        bind(engine, frame, target, element(engine, frame, source, target))
    else:
        value = element(engine, frame, source, target)
        bind(
            engine,
            frame,
            target,
            value if value.parts or value.fields or value.items else unknown(engine, frame, target),
        )


def _branches(engine: Engine, frame: Frame, bodies: list[list[ast.stmt]]) -> None:
    """Follow every branch from the same start; afterwards the richer of two values stands."""
    start = dict(frame.env)
    merged: dict[str, Value] | None = None
    for body in bodies:
        frame.env.clear()
        frame.env.update(start)
        run(engine, frame, body)
        if body and isinstance(body[-1], _ENDS):
            continue
        ended = dict(frame.env)
        if merged is None:
            merged = ended
            continue
        for name in ended.keys() | merged.keys():
            if merged.get(name) is not ended.get(name):
                merged[name] = richer(merged.get(name), ended.get(name))
    frame.env.clear()
    frame.env.update(start if merged is None else merged)
