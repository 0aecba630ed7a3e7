"""Prompts that a call hands to a function of the project, which sends them to a model.

What a function sends is found out once, with its parameters open: a wrapper is asked from many
places. A caller's values are then put in, over as many wrappers as there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from kvaudit.analyzers.source.python.drafts import Draft, Entry, blocks, message_entries
from kvaudit.analyzers.source.python.engine import Engine, Seen, Unit
from kvaudit.analyzers.source.python.functions import body_result, bound, opened, substituted
from kvaudit.analyzers.source.python.messages import content_of, has_roles, role_of
from kvaudit.analyzers.source.python.module import Function
from kvaudit.analyzers.source.python.sinks import drafts_of_call
from kvaudit.analyzers.source.python.values import Code, Value
from kvaudit.core.document import Position, Volatility

MAX_WRAPPERS = 3
"""Functions between a prompt and the call that sends it."""


class Sends(NamedTuple):
    """A request that a function makes, with its parameters open."""

    entries: tuple[Entry, ...]
    multi_turn: bool


def passed_on(engine: Engine, seen: Seen) -> Iterator[Draft]:
    """Yield the prompts that a call passes on to a model; only where something in them changes."""
    code = seen.code
    if code is None or not isinstance(code.node, Function):
        return
    if any(map(_changes, (*seen.args, *seen.named.values()))):
        yield from _passed(engine, seen, code, wrappers=1)


def _passed(engine: Engine, seen: Seen, code: Code, *, wrappers: int) -> Iterator[Draft]:
    requests = _requests_of(engine, code, wrappers)
    if requests:
        given = bound(engine, code, seen.args, seen.named)
        for request in requests:
            draft = Draft(seen.dotted, seen.unit, [*request.entries], request.multi_turn)
            made = filled(draft, given)
            yield replace(made, loops=seen.loops, sent=True)


def _requests_of(engine: Engine, code: Code, wrappers: int) -> tuple[Sends, ...]:
    """Return the requests that a function makes of its parameters."""

    def followed() -> tuple[Sends, ...]:
        return tuple(_followed(engine, code, wrappers))

    key = ("sends", wrappers, code.node)
    return engine.once.found(code.module, key, followed, ())


def _followed(engine: Engine, code: Code, wrappers: int) -> Iterator[Sends]:
    for seen in _calls_in(engine, code):
        drafts = [draft for draft in drafts_of_call(engine, seen) if draft.sent]
        inner = seen.code
        if not drafts and inner is not None and isinstance(inner.node, Function):
            opened_there = any(map(_is_open, (*seen.args, *seen.named.values())))
            if opened_there and wrappers < MAX_WRAPPERS and inner.node is not code.node:
                drafts = [*_passed(engine, seen, inner, wrappers=wrappers + 1)]
        for draft in drafts:
            if any(_is_open(entry.value) for entry in draft.entries):
                yield Sends(tuple(draft.entries), draft.multi_turn)


def _calls_in(engine: Engine, code: Code) -> Sequence[Seen]:
    """Return the calls that a function makes, kept apart from those of the file that is read."""
    assert isinstance(code.node, Function)
    outer = engine.seen, engine.nested
    engine.seen, engine.nested = [], []
    unit = Unit(code.module, code.node, owner=code.owner)
    body_result(engine, opened(engine, code, 1, unit), code)
    engine.seen, engine.nested = outer
    return unit.seen


def _changes(value: Value) -> bool:
    return any(part.trail and part.volatility >= Volatility.DAY for part in value.printed)


def _is_open(value: Value) -> bool:
    return any(part.param is not None for part in value.printed)


def filled(draft: Draft, given: Mapping[str, Value]) -> Draft:
    """Return a prompt with a caller's arguments; a list of messages has the positions of them."""
    entries: list[Entry] = []
    turns = draft.multi_turn
    for entry in draft.entries:
        value = substituted(entry.value, given)
        if entry.value.items is None and has_roles(value):
            messages, turns = message_entries(value)
            entries += messages
        elif entry.value.fields is None and role_of(value) == "system":
            entries += blocks(Position.SYSTEM, content_of(value))
        else:
            entries.append(replace(entry, value=value))
    return replace(draft, entries=entries, multi_turn=turns)
