"""Values that flow into a key, and the keys that are built of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from kvaudit.analyzers.reader import Unreadable
from kvaudit.core.sources import Source

DEPTH = 5
"""Functions of the file that are followed into each other."""
MAX_REFERENCES = 200
MAX_STEPS = 50_000
"""Expressions that are looked at for one key; code that people write needs some hundreds."""


class Steps:
    """How many more expressions may be looked at."""

    def __init__(self) -> None:
        """Take none yet."""
        self._left = MAX_STEPS

    def take(self) -> None:
        """Count one. Raises `Unreadable`."""
        self._left -= 1
        if self._left < 0:
            raise Unreadable("what flows into a key of it is too much to follow")


class Nature(StrEnum):
    """How a value comes to be."""

    VALUE = "value"
    CLOCK = "clock"
    RANDOM = "random"
    PROCESS = "process"
    """Python's own ``hash`` or ``id``: another one in every process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One value, by the names on the way to it: ``body``, ``messages``, ``-1``, ``content``."""

    words: tuple[str, ...]
    """In snake case; an index is a number, and ``:`` is a part of a list or text."""
    text: str
    """As it is written, on one line."""
    line: int
    nature: Nature = Nature.VALUE
    partly: str = ""
    """What takes less of the value than it is, as written: ``prompt.lower()``."""

    def below(self, *words: str) -> Reference:
        """Return what is inside of it by further names."""
        return replace(self, words=(*self.words, *words))

    def cut_by(self, text: str) -> Reference:
        """Return it as something that is only partly taken."""
        return self if self.partly else replace(self, partly=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltKey:
    """A key that a function builds."""

    source: Source
    line: int
    function: str
    """Empty at the file's own level."""
    references: Sequence[Reference]


def each_once(references: Iterable[Reference]) -> list[Reference]:
    """Return references without those that say the same; one that is taken whole wins."""
    found: dict[tuple[tuple[str, ...], Nature], Reference] = {}
    for one in references:
        known = found.get((one.words, one.nature))
        if known is None or (known.partly and not one.partly):
            found[one.words, one.nature] = one
        if len(found) >= MAX_REFERENCES:
            break
    return list(found.values())
