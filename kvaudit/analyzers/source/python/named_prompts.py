"""Prompts that are known by name: functions, variables, constants, decorated functions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.source.prompt_names import Called, called, speaks_of_prompts
from kvaudit.analyzers.source.python import chat_templates
from kvaudit.analyzers.source.python.code import last_name
from kvaudit.analyzers.source.python.drafts import Draft, Entry, is_marked, message_entries
from kvaudit.analyzers.source.python.engine import Engine, Filled, Unit
from kvaudit.analyzers.source.python.first_message import put_first
from kvaudit.analyzers.source.python.hole_places import holes_of_format
from kvaudit.analyzers.source.python.lookup import decorators
from kvaudit.analyzers.source.python.messages import role_of, text_of_block
from kvaudit.analyzers.source.python.origins import GUESSED_TOKENS
from kvaudit.analyzers.source.python.templates import FILLS, open_template
from kvaudit.analyzers.source.python.values import Shape, Value, richer
from kvaudit.core.document import Evidence, Origin, Position, Volatility

MIN_LITERAL_CHARS = 200
"""A text with fewer fixed characters is a prompt only if its name says so clearly."""

MIN_SECTIONS = 3
"""A sum of fewer parts is no request that is put together from sections."""

_MESSAGES = re.compile(r"(\w+_)?(messages|chunks|prompt|context|sections)(_\w+)?")
_OFTEN = re.compile(
    r"(repo|file|project|code)_?(map|tree|list\w*)|open_\w+|diagnostics|env(ironment)?(_\w+)?"
    r"|cur(rent)?(_\w+)?|recent(_\w+)?|chat_files\w*|edit(able|ed)_\w+|workspace\w*|state|status"
    r"|memor(y|ies)\w*|recall\w*|scratch\w*|todos?|notes|done|history"
)
_SELDOM = re.compile(
    r"sys(tem)?(_\w+)?|examples?|few_?shots?|read_?only\w*|schemas?|rules|instructions|tools|docs"
    r"|guidelines|reference\w*|static\w*|persona|policy|policies"
)
_DECORATORS = {"system_prompt", "instructions", "dynamic_prompt", "system"}


def drafts_of_unit(engine: Engine, unit: Unit) -> Iterator[Draft]:
    """Yield the prompts that a function returns or puts together under a name of prompts."""
    yield from _returned(engine, unit)
    yield from chat_templates.drafts(engine, unit)
    for text in unit.texts:
        if text.value.shape is Shape.PROMPT:
            continue
        yield from put_first(unit, text)
        yield from _named_text(engine, unit, text)


def _returned(engine: Engine, unit: Unit) -> Iterator[Draft]:
    if unit.node is None:
        return
    result = None
    for _, value in unit.returns:
        result = value if result is None else richer(result, value)
    if result is None:
        return
    if result.shape is Shape.PROMPT:
        return
    if result.items is not None and any(role_of(item) for item in result.items):
        entries, turns = message_entries(result)
        yield Draft(unit.name, unit, entries, multi_turn=turns, sent=True)
        return
    filled = any(
        isinstance(node, ast.Call) and last_name(node.func) in FILLS for node, _ in unit.returns
    )
    if _MESSAGES.fullmatch(unit.name) and not filled and _is_made_of_sections(result):
        yield from _sections(unit, result)
        return
    block = text_of_block(result)
    what = called(unit.name)
    if _DECORATORS & set(decorators(unit.node)):
        what = Called.SYSTEM
    if what is None or not is_prompt_text(block, what):
        return
    draft = _draft(unit.name, unit, block, what, marked=is_marked(result))
    draft.multi_turn = draft.multi_turn and not _is_kept(unit.node)
    yield draft


def _is_kept(node: ast.AST) -> bool:
    """Whether a text is made once and kept in the history: Pydantic AI's, unless dynamic."""
    marks = getattr(node, "decorator_list", [])
    return any(isinstance(mark, ast.Attribute) and mark.attr == "system_prompt" for mark in marks)


def _is_made_of_sections(value: Value) -> bool:
    named = all(part.text is None and part.evidence is Evidence.NAME for part in value.parts)
    return named and len(value.parts) >= MIN_SECTIONS


def _sections(unit: Unit, value: Value) -> Iterator[Draft]:
    """Yield a request that is put together from sections of which only the names are known."""
    entries = []
    for part in value.parts:
        name = snake_case((part.expression or "").rstrip("()"))
        position = Position.SYSTEM if name.startswith("sys") else Position.HISTORY
        if _OFTEN.fullmatch(name):
            part = replace(part, volatility=Volatility.TURN, origin=Origin.UNKNOWN)
        elif _SELDOM.fullmatch(name):
            part = replace(part.of(Origin.CONSTANT), tokens=GUESSED_TOKENS)
        entries.append(Entry(position, Value(parts=(part,))))
    yield Draft(unit.name, unit, entries)


def _named_text(engine: Engine, unit: Unit, text: Filled) -> Iterator[Draft]:
    what = called(text.name.rsplit(".", 1)[-1])
    owner = unit.owner.name if unit.owner is not None else ""
    if text.opaque:
        names = (text.name, unit.name, owner, engine.module.source.path.rsplit("/", 1)[-1])
        if not speaks_of_prompts(*names) or not _arises(text.value):
            return
        what = Called.SYSTEM
    if what is None or not (text.opaque or is_prompt_text(text.value, what)):
        return
    value = text.value
    if unit.node is None and text.name.isupper():
        value = opened_constant(engine, value)
    yield _draft(text.name, unit, value, what)


def opened_constant(engine: Engine, value: Value) -> Value:
    """Return a constant with its holes open, if it is a template at all."""
    whole = "".join(part.text or "" for part in value.parts)
    named = all(isinstance(hole[2], str) for hole in holes_of_format(whole))
    if ("{{" in whole and "}}" in whole) or (holes_of_format(whole) and named):
        return open_template(engine, value)
    return value


def is_prompt_text(value: Value, what: Called) -> bool:
    """Whether a value is a text of the kind that its name promises."""
    if value.shape not in (Shape.TEXT, Shape.LIST) and not value.items:
        return False
    parts = value.printed
    fixed = sum(len(part.text) for part in parts if part.text is not None)
    guessed = any(part.tokens for part in parts if part.text is None)
    if fixed >= MIN_LITERAL_CHARS:
        return True
    if what is Called.CONTEXT:
        return fixed >= 40 and _changes(value)
    clear = what is Called.SYSTEM and fixed > 0 and _arises(value)
    return (fixed >= 12 or guessed or clear) and len(parts) > 1


def _arises(value: Value) -> bool:
    """Whether something that changes was seen where it arises, and not by name alone."""
    return any(part.trail and part.volatility >= Volatility.DAY for part in value.printed)


def _changes(value: Value) -> bool:
    return any(
        part.volatility >= Volatility.DAY
        and (part.evidence is not Evidence.NAME or part.origin is not Origin.UNKNOWN)
        for part in value.printed
        if part.text is None
    )


def _draft(name: str, unit: Unit, value: Value, what: Called, *, marked: bool = False) -> Draft:
    position = Position.NEWEST if what is Called.USER else Position.SYSTEM
    return Draft(
        name,
        unit,
        [Entry(position, replace(value, spread=False), marked)],
        multi_turn=what is Called.SYSTEM,
        role_known=what is not Called.PROMPT,
    )
