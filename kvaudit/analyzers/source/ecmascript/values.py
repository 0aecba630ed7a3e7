"""What an expression is known to be: the text it prints as, in parts, and what it is made of.

A value is immutable. Text is a row of parts in the order in which they will be printed; a
part is a literal, or an expression of which only its origin is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from kvaudit.analyzers.source.parts import MAX_PARTS, Hazard, Part, limited, marked
from kvaudit.core.document import Evidence, Origin
from kvaudit.core.sources import Source

if TYPE_CHECKING:
    from kvaudit.analyzers.source.ecmascript.engine import Frame
    from kvaudit.analyzers.source.ecmascript.module import Module
    from kvaudit.analyzers.source.ecmascript.tree import Node


class Shape(StrEnum):
    """What kind of thing a value is, as far as its printing depends on it."""

    UNKNOWN = "unknown"
    TEXT = "text"
    LIST = "list"
    FIELDS = "fields"
    MOMENT = "moment"
    """A clock reading that a method or a format may still make coarser."""
    PARSED = "parsed"
    """Parsed from JSON text."""
    TEMPLATE = "template"
    """Compiled: called with an object, it gives its text."""
    CODE = "code"


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    """Something that can be called, and the frame it was met in."""

    module: Module
    node: Node
    frame: Frame | None = None


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
    node: Node | None = None
    """Where an object, a list or a message is written."""
    source: Source | None = None

    @property
    def printed(self) -> tuple[Part, ...]:
        """The text it prints as."""
        if self.parts or (self.items is None and self.fields is None):
            return marked(self.parts, self.hazards)
        inner = self.items if self.items is not None else tuple((self.fields or {}).values())
        return marked(limited(part for item in inner for part in item.printed), self.hazards)

    @property
    def text(self) -> str | None:
        """The text, where all of it is literal."""
        if self.shape is not Shape.TEXT or any(part.text is None for part in self.parts):
            return None
        return "".join(part.text or "" for part in self.parts)

    @property
    def sole(self) -> Part | None:
        """The part of a value that is one expression."""
        one = len(self.parts) == 1 and self.items is None and self.fields is None
        return self.parts[0] if one and self.parts[0].text is None else None


NOTHING = Value()


def text_of(parts: Iterable[Part]) -> Value:
    """Return a text of parts."""
    return Value(parts=limited(parts), shape=Shape.TEXT)


def list_of(items: Iterable[Value], hazards: tuple[Hazard, ...] = ()) -> Value:
    """Return a list of values, not more than a request can have."""
    return Value(shape=Shape.LIST, items=tuple(items)[:MAX_PARTS], hazards=hazards)


def changed(value: Value, change: Callable[[Part], Part], depth: int = 6) -> Value:
    """Return a value with every part of it changed, in depth."""
    if depth == 0:
        return value
    items, fields = value.items, value.fields
    return replace(
        value,
        parts=tuple(change(part) for part in value.parts),
        items=None if items is None else tuple(changed(v, change, depth - 1) for v in items),
        fields=None
        if fields is None
        else {name: changed(v, change, depth - 1) for name, v in fields.items()},
    )


def all_hazards(value: Value, depth: int = 4) -> Iterator[Hazard]:
    """Yield the hazards of a value and of what is in it."""
    yield from value.hazards
    for part in value.parts:
        yield from part.hazards
    if depth:
        for item in (*(value.items or ()), *(value.fields or {}).values()):
            yield from all_hazards(item, depth - 1)


def weight(value: Value) -> tuple[int, int]:
    """Return how much a value tells: first what changes, then how long it is."""
    parts = value.printed
    worst = max((p.volatility for p in parts if p.evidence is not Evidence.NAME), default=0)
    return int(worst), sum(len(p.text) if p.text is not None else 20 for p in parts)


def richer(one: Value | None, other: Value | None) -> Value:
    """Return which of two possible values tells more; two branches often do."""
    if one is None or other is None:
        return one or other or NOTHING
    if one.code is not None or other.code is not None:
        return one if one.code is not None else other
    if (one.fields is None) != (other.fields is None) and not (one.parts and other.parts):
        return one if one.fields is not None else other
    return other if weight(other) > weight(one) else one


_LASTS_A_SESSION = {
    Origin.CLOCK: Origin.SESSION,
    Origin.DATE: Origin.SESSION,
    Origin.RANDOM: Origin.SESSION,
    Origin.COUNTER: Origin.SESSION,
    Origin.LIVE_STATE: Origin.SESSION,
    Origin.RETRIEVED: Origin.SESSION,
}
_LASTS_A_PROCESS = {
    **_LASTS_A_SESSION,
    Origin.CLOCK: Origin.DEPLOY,
    Origin.DATE: Origin.DEPLOY,
    Origin.RANDOM: Origin.DEPLOY,
    Origin.LIVE_STATE: Origin.DEPLOY,
    Origin.RETRIEVED: Origin.DEPLOY,
    Origin.SESSION: Origin.HOST,
}
_READ_ONCE = (Origin.CLOCK, Origin.DATE, Origin.RANDOM)
_GONE_ONCE_KEPT = ("shuffled-examples", "retrieval-order", "discovery-order", "listing-order")


def kept(value: Value, *, at_import: bool) -> Value:
    """Return what a value is once it was stored: what was read once does not change per call."""
    table = _LASTS_A_PROCESS if at_import else _LASTS_A_SESSION

    def age(part: Part) -> Part:
        hazards = tuple(h for h in part.hazards if h.kind not in _GONE_ONCE_KEPT)
        if part.text is not None or part.origin not in table or part.evidence is Evidence.NAME:
            return part if hazards == part.hazards else replace(part, hazards=hazards)
        if at_import and part.origin in _READ_ONCE:
            read = f"{part.expression} is read once"
            hazards += (Hazard("frozen-at-import", part.source, part.span, read),)
        return replace(part.of(table[part.origin]), hazards=hazards)

    hazards = tuple(h for h in value.hazards if h.kind not in _GONE_ONCE_KEPT)
    return replace(changed(value, age), hazards=hazards)
