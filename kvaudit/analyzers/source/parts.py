"""Pieces of text as the code of any language puts them together, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self, TypeVar

from kvaudit.core.document import VOLATILITY_OF, Evidence, Origin, Step, Volatility
from kvaudit.core.sources import Source, Span

MAX_PARTS = 1_000
"""More parts than this are no prompt that a person wrote."""


@dataclass(frozen=True, slots=True, eq=False)
class Hazard:
    """Something wrong with how a value was put together, to be told where it reaches a prompt."""

    kind: str
    source: Source
    span: Span
    detail: str


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A piece of text as it will be printed: a literal, or an expression and where it is from."""

    source: Source
    span: Span
    text: str | None = None
    expression: str | None = None
    origin: Origin = Origin.CONSTANT
    volatility: Volatility = Volatility.CONSTANT
    evidence: Evidence = Evidence.DATAFLOW
    tokens: int | None = None
    trail: tuple[Step, ...] = ()
    hazards: tuple[Hazard, ...] = ()

    def of(self, origin: Origin) -> Self:
        """Return the part as one of another origin."""
        return replace(self, origin=origin, volatility=VOLATILITY_OF[origin])


P = TypeVar("P", bound=Part)


def limited(parts: Iterable[P]) -> tuple[P, ...]:
    """Return the first parts, not more than a prompt can have."""
    kept: list[P] = []
    for part in parts:
        kept.append(part)
        if len(kept) == MAX_PARTS:
            break
    return tuple(kept)


def marked(parts: tuple[P, ...], hazards: tuple[Hazard, ...]) -> tuple[P, ...]:
    """Return the parts with hazards put on the first of them."""
    if not hazards or not parts:
        return parts
    new = tuple(h for h in hazards if h not in parts[0].hazards)
    return (replace(parts[0], hazards=parts[0].hazards + new), *parts[1:]) if new else parts
