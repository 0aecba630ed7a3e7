"""Whether two questions ask about different things, by what can be read off their words.

Each kind of difference is a module's function from two texts' `Facts`; a text is read once. The
rule sees what is written: numbers, dates, times, identifiers, names, negation, opposites and
direction, in English and Chinese. It does not know synonyms, and a scope that one text leaves
out is no difference to it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from kvaudit.replay.semantic.guards.dates import date_words, dates_differ
from kvaudit.replay.semantic.guards.facts import Facts
from kvaudit.replay.semantic.guards.names import names_differ, sentence
from kvaudit.replay.semantic.guards.numbers import identifiers, numbers, numbers_differ, units
from kvaudit.replay.semantic.guards.polarity import failures, negated, negations, opposed
from kvaudit.replay.semantic.guards.swapped import swapped

CACHED_TEXTS = 1 << 16


@lru_cache(CACHED_TEXTS)
def facts_of(text: str) -> Facts:
    """Read a text once."""
    own = Facts.read(text)
    own.numbers = numbers(own)
    own.identifiers = identifiers(own)
    own.units = units(own)
    own.dates = date_words(own)
    own.negations = negations(own)
    own.failures = failures(own)
    own.sentence = sentence(own)
    return own


def _clash(a: frozenset[str], b: frozenset[str]) -> bool:
    """Return whether each has something that the other lacks."""
    return bool(a - b) and bool(b - a)


KINDS: dict[str, Callable[[Facts, Facts], bool]] = {
    "number": numbers_differ,
    "identifier": lambda a, b: _clash(a.identifiers, b.identifiers),
    "unit": lambda a, b: _clash(a.units, b.units),
    "date": dates_differ,
    "name": names_differ,
    "negation": negated,
    "opposite": opposed,
    "direction": swapped,
}
"""What two texts may differ in, and how it is seen."""


def differences(a: str, b: str) -> tuple[str, ...]:
    """Return the kinds in which two texts differ; none for equal ones."""
    if a == b:
        return ()
    first, second = facts_of(a), facts_of(b)
    return tuple(kind for kind, differ in KINDS.items() if differ(first, second))
