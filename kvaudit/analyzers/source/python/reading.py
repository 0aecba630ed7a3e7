"""One file, from its text to its documents."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kvaudit.analyzers.reader import Project
from kvaudit.analyzers.source.python.builders import is_loaded_once
from kvaudit.analyzers.source.python.documents import document
from kvaudit.analyzers.source.python.drafts import Draft
from kvaudit.analyzers.source.python.engine import Engine, Frame, Phase, Unit
from kvaudit.analyzers.source.python.functions import body_result, bound, opened
from kvaudit.analyzers.source.python.module import Function
from kvaudit.analyzers.source.python.named_prompts import drafts_of_unit
from kvaudit.analyzers.source.python.passing import filled, passed_on
from kvaudit.analyzers.source.python.requests import observations
from kvaudit.analyzers.source.python.sinks import drafts_of_call
from kvaudit.analyzers.source.python.statements import run
from kvaudit.analyzers.source.python.values import Code
from kvaudit.core.document import Document
from kvaudit.core.sources import Source

_MAIN = re.compile(r"_*(a?sync_?)?main(_a?sync)?|amain|cli|demo")
MAX_CALLERS = 8
"""Callers whose arguments are put into a prompt; further ones say the same."""


def read_module(source: Source, project: Project) -> Sequence[Document]:
    """Return the prompts that a module builds. Raises `Unreadable`."""
    engine = Engine(source, project)
    follow_all(engine)
    found: list[Document] = []
    consumed: set[int] = set()
    drafts: list[Draft] = []
    for draft in _sent(engine):
        drafts.append(draft)
        found.append(document(engine, draft))
        consumed |= {id(part) for entry in draft.entries for part in entry.value.printed}
    for unit in engine.units:
        for draft in drafts_of_unit(engine, unit):
            if is_loaded_once(engine, draft):
                unit.phase = Phase.IMPORT
            parts = [part for entry in draft.entries for part in entry.value.printed]
            if not draft.role_known and any(id(part) in consumed for part in parts):
                continue
            for whole in _with_callers(engine, draft):
                drafts.append(whole)
                found.append(document(engine, whole))
    found += observations(engine, drafts)
    return [made for made in found if made.segments or made.observations]


def _sent(engine: Engine) -> Iterator[Draft]:
    for seen in engine.seen:
        for draft in drafts_of_call(engine, seen):
            yield from _with_callers(engine, draft)
        yield from passed_on(engine, seen)


def follow_all(engine: Engine) -> None:
    """Follow every function of the file once, and what runs when it is loaded."""
    tree = engine.module.tree
    loaded = [node for node in tree.body if not isinstance(node, Function | ast.ClassDef)]
    main = [node for node in loaded if _is_main(node)]
    _follow_level(engine, [node for node in loaded if node not in main], main=False)
    _follow_level(engine, main, main=True)
    started = _started(tree, main)
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            _follow_class(engine, node)
        elif isinstance(node, Function):
            _follow(engine, Code(engine.module, node), None, main=node.name in started)
    while engine.nested:
        code = engine.nested.pop(0)
        _follow(engine, code, None)


def _started(tree: ast.Module, main: list[ast.stmt]) -> set[str]:
    """Return names that are used where the file is started as a program, and nowhere else in it.

    A name that another module may want, which is no ``main``, is none of them.
    """
    if not main:
        return set()
    used = {n.id for block in main for n in ast.walk(block) if isinstance(n, ast.Name)}
    elsewhere = {
        n.id
        for block in tree.body
        if block not in main
        for n in ast.walk(block)
        if isinstance(n, ast.Name)
    }
    return {name for name in used - elsewhere if _MAIN.fullmatch(name)}


def _follow_level(engine: Engine, body: list[ast.stmt], *, main: bool) -> None:
    unit = Unit(engine.module, None, phase=Phase.CALL if main else Phase.IMPORT, main=main)
    frame = Frame(module=engine.module, env=unit.env, phase=unit.phase, unit=unit)
    engine.units.append(unit)
    run(engine, frame, body)


def _follow_class(engine: Engine, node: ast.ClassDef) -> None:
    unit = Unit(engine.module, None, owner=node, phase=Phase.IMPORT)
    frame = Frame(module=engine.module, env=unit.env, phase=Phase.IMPORT, unit=unit, owner=node)
    engine.units.append(unit)
    run(engine, frame, [n for n in node.body if isinstance(n, ast.Assign | ast.AnnAssign)])
    for inner in node.body:
        if isinstance(inner, Function):
            _follow(engine, Code(engine.module, inner, node), node)
        elif isinstance(inner, ast.ClassDef):
            _follow_class(engine, inner)


def _follow(engine: Engine, code: Code, owner: ast.ClassDef | None, *, main: bool = False) -> None:
    node = code.node
    assert isinstance(node, Function)
    unit = Unit(engine.module, node, owner=owner, main=main)
    frame = opened(engine, code, 0, unit)
    unit.env, unit.phase = frame.env, frame.phase
    engine.units.append(unit)
    unit.result = body_result(engine, frame, code)
    engine.once.know(node, unit.result)


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__main__" in ast.dump(node.test)


def _with_callers(engine: Engine, draft: Draft) -> list[Draft]:
    """Return a prompt as each caller fills it, where there are callers in this file."""
    node = draft.unit.node
    parts = [part for entry in draft.entries for part in entry.value.printed]
    if node is None or not any(part.param for part in parts):
        return [draft]
    code = Code(engine.module, node, draft.unit.owner)
    calls = [seen for seen in engine.seen if seen.code is not None and seen.code.node is node]
    each = []
    for seen in calls[:MAX_CALLERS]:
        given = bound(engine, code, seen.args, seen.named)
        made = filled(draft, given)
        each.append(replace(made, loops=draft.loops + seen.loops))
    return each or [draft]
