"""What every template language is read into: text, expressions and role marks, as rendered.

A reader gives these in rendered order; `compose` makes documents of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kvaudit.analyzers.template.values import CONSTANT, Value
from kvaudit.core.document import Observation, Origin
from kvaudit.core.sources import Source, Span

MAX_PIECES = 20_000
"""More than a person writes; what includes that include each other may give at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A run of text or one expression."""

    source: Source
    span: Span
    text: str | None = None
    expression: str | None = None
    value: Value = CONSTANT
    loop: Origin | None = None
    """What the loop around it goes through; None outside loops."""
    other_arm: bool = False
    """It stands in the shorter arm of a branch: its size does not add to the longer one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Where a message begins; ``role`` is None where an expression decides it."""

    source: Source
    span: Span
    role: str | None
    loop: Origin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A branch of the template: what it depends on and how many cases it has."""

    source: Source
    span: Span
    test: str
    value: Value
    cases: int


Item = Piece | Mark | Switch | Observation


def shorter_arms_marked(arms: Sequence[list[Item]]) -> list[Item]:
    """Join the arms of a branch; all but the longest no longer count.

    The longest stands first, since it is never behind what another arm prints; but not where
    messages begin in an arm, which decides whose the text behind the branch is.
    """
    longest = max(range(len(arms)), key=lambda index: text_length(arms[index]), default=0)
    order = list(range(len(arms)))
    if arms and not any(isinstance(item, Mark) for arm in arms for item in arm):
        order = [longest, *(index for index in order if index != longest)]
    return [
        replace(item, other_arm=True) if index != longest and isinstance(item, Piece) else item
        for index in order
        for item in arms[index]
    ]


def text_length(items: Iterable[Item]) -> int:
    """Return the characters of fixed text."""
    return sum(len(item.text or "") for item in items if isinstance(item, Piece))
