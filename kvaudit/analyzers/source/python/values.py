"""What an expression is known to be: the text it prints as, in parts, and what it is made of.

A value is immutable. Text is a row of parts in the order in which they will be printed; a
part is a literal, or an expression that nothing more is known of than its origin. A part that
stands for a parameter says so until a caller is known.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from kvaudit.analyzers.source import parts
from kvaudit.analyzers.source.parts import MAX_PARTS, Hazard, limited, marked
from kvaudit.core.document import Evidence
from kvaudit.core.sources import Source, Span

if TYPE_CHECKING:
    from kvaudit.analyzers.source.python.module import Module


class Shape(StrEnum):
    """What kind of thing a value is, as far as its printing depends on it."""

    UNKNOWN = "unknown"
    TEXT = "text"
    LIST = "list"
    SET = "set"
    FIELDS = "fields"
    MOMENT = "moment"
    """A clock reading that is no text yet: a format decides how fine it is."""
    WIRE = "wire"
    """Parsed from a store or a wire that decides the order of keys."""
    PARSED = "parsed"
    """Parsed from JSON text."""
    PROMPT = "prompt"
    """A template of messages, which is filled later."""
    CODE = "code"
    INSTANCE = "instance"


@dataclass(frozen=True, slots=True, eq=False)
class Part(parts.Part):
    """A piece of text, and what only Python's reader knows of it."""

    param: str | None = None
    """The parameter it is, alone; None for everything else."""
    loop: ast.AST | None = None
    """The loop whose rounds it counts; outside of it it stands still."""
    is_hole: bool = False
    """A place in a template that is filled later, whenever the template itself was read."""
    asked: bool = False
    """Found with the words of one request."""
    fills: tuple[str, int] | None = None
    """The hole of a template in a file of its own that it is put in: the path, and where."""


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    """Something that can be called: a function, a lambda or a class, and where it was met."""

    module: Module
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
    owner: ast.ClassDef | None = None
    closure: Mapping[str, Value] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """What is known of an expression."""

    parts: tuple[Part, ...] = ()
    shape: Shape = Shape.UNKNOWN
    items: tuple[Value, ...] | None = None
    """Elements of a list, in order; a spread one stands for any number."""
    fields: Mapping[str, Value] | None = None
    code: Code | None = None
    hazards: tuple[Hazard, ...] = ()
    """Of the order of its elements."""
    spread: bool = False
    literal: object = None
    """A number, bool or bytes constant."""
    at: tuple[Source, Span] | None = None

    @property
    def printed(self) -> tuple[Part, ...]:
        """The text it prints as."""
        if self.parts or (self.items is None and self.fields is None):
            return marked(self.parts, self.hazards)
        inner = self.items if self.items is not None else _printed_fields(self.fields or {})
        return marked(limited(part for item in inner for part in item.printed), self.hazards)

    @property
    def text(self) -> str | None:
        """The text, where all of it is literal."""
        if self.shape is not Shape.TEXT or any(part.text is None for part in self.parts):
            return None
        return "".join(part.text or "" for part in self.parts)


_SENT = ("content", "parts", "text", "tool_calls")
"""Entries of a message that a model is shown."""
_FOR_THE_STORE = re.compile(r"(\w+_)?(id|at|timestamp|time|date)")
"""Names of entries of a message by which it is found again."""


def _printed_fields(fields: Mapping[str, Value]) -> tuple[Value, ...]:
    is_message = "role" in fields or {"type", "content"} <= fields.keys()
    if not is_message and not ("parts" in fields and "timestamp" in fields):
        return tuple(fields.values())
    sent = [name for name in _SENT if name in fields]
    return tuple(fields[n] for n in sent or fields if not _FOR_THE_STORE.fullmatch(n))


NOTHING = Value()


def text_of(parts: Iterable[Part]) -> Value:
    """Return a text of parts."""
    return Value(parts=limited(parts), shape=Shape.TEXT)


def list_of(items: Iterable[Value], hazards: tuple[Hazard, ...] = ()) -> Value:
    """Return a list of values, not more than a request can have."""
    return Value(shape=Shape.LIST, items=tuple(items)[:MAX_PARTS], hazards=hazards)


def all_hazards(value: Value) -> Iterator[Hazard]:
    """Yield the hazards of a value and of what is in it."""
    yield from value.hazards
    for part in value.parts:
        yield from part.hazards
    for item in inner_values(value):
        yield from all_hazards(item)


def inner_values(value: Value) -> Iterator[Value]:
    """Yield elements and entries."""
    yield from value.items or ()
    yield from (value.fields or {}).values()


def changed(value: Value, change: Callable[[Part], tuple[Part, ...]], depth: int = 6) -> Value:
    """Return a value with every part of it changed, in depth."""
    if depth == 0:
        return value
    return replace(
        value,
        parts=limited(new for part in value.parts for new in change(part)),
        items=None
        if value.items is None
        else tuple(changed(v, change, depth - 1) for v in value.items),
        fields=None
        if value.fields is None
        else {name: changed(v, change, depth - 1) for name, v in value.fields.items()},
    )


def weight(value: Value) -> tuple[int, int]:
    """Return how much a value tells: first what changes, then how long it is."""
    parts = value.printed
    followed = (p for p in parts if p.trail or p.evidence is not Evidence.NAME)
    worst = max((p.volatility for p in followed), default=0)
    return int(worst), sum(len(p.text) if p.text is not None else 20 for p in parts)


def richer(one: Value | None, other: Value | None) -> Value:
    """Return which of two possible values tells more; two branches often do."""
    if one is None or other is None:
        return one or other or NOTHING
    if one is other:
        return one
    if one.code is not None or other.code is not None:
        return one if one.code is not None else other
    return other if weight(other) > weight(one) else one
