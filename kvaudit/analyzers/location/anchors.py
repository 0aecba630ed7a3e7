"""The fixed text of a document around its expressions, looked for around a slot of a prompt.

A slot is written by an expression if the fixed text before it stands before the slot and the fixed
text behind it stands behind. White space is not compared: templates trim it. A branch that was not
taken leaves its text out, so a few literals may be missing, but none may stand on the wrong side.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from kvaudit.analyzers.location.written import written_at
from kvaudit.core.document import Document, Segment
from kvaudit.core.sources import Source, Span

WINDOW_CHARS = 20_000
"""So far from the slot its template's text is looked for."""
LEAST_FIXED = 8
"""Letters and digits of fixed text around a slot; less stands in many prompts by chance."""
_LOOSE_A_LETTER = 4
"""So many characters between slot and fixed text ask for one letter more: what stands far from a
slot stands there by chance."""
_PROOF = 60
"""Letters on both sides that are proof however long the value is."""
_MISSED = 3
"""Literals in a row that may be missing: branches not taken, loops not entered."""
_ENOUGH = 4_000
"""Letters of fixed text after which more prove nothing."""
_SPACE = re.compile(r"\s+")


class Around(NamedTuple):
    """A prompt's text around a slot, white space made single blanks."""

    before: str
    after: str

    @classmethod
    def of(cls, text: str, start: int, end: int) -> Around:
        """Cut a text at the slot from ``start`` to ``end``."""
        return cls(
            before=plain(text[max(0, start - 2 * WINDOW_CHARS) : start])[-WINDOW_CHARS:],
            after=plain(text[end : end + 2 * WINDOW_CHARS])[:WINDOW_CHARS],
        )


@dataclass(frozen=True, slots=True)
class Fit:
    """An expression whose surroundings stand around a slot."""

    document: Document
    number: int
    """Of the expression among the document's segments."""
    source: Source
    span: Span
    """Where it is written."""
    sides: int
    """2 where fixed text stands on both sides, 1 where the document has it on one only."""
    loose: int
    """Characters between the slot and the nearest fixed text on both sides."""
    fixed: int
    """Letters and digits of all fixed text that was found, in order."""
    missing: int
    """Those of fixed text in between that was not."""

    @property
    def segment(self) -> Segment:
        """The expression."""
        return self.document.segments[self.number]

    @property
    def rank(self) -> tuple[int, int, int]:
        """The larger, the better: close text first, then much of it and little that is missing."""
        return self.sides, -self.loose, self.fixed - self.missing


class _Side(NamedTuple):
    loose: int
    fixed: int
    missing: int
    ends: bool
    """Whether the document has no text on this side at all."""


def plain(text: str) -> str:
    """Return a text with every run of white space as one blank."""
    return _SPACE.sub(" ", text)


@cache
def _literal(text: str) -> str:
    """Return what is looked for of a literal: empty where it has no letter or digit."""
    return plain(text).strip() if any(map(str.isalnum, text)) else ""


@cache
def letters(text: str) -> int:
    """Return how many letters and digits a text has; a Chinese or Japanese one says as much as two.

    >>> letters("Now: 12"), letters("现在")
    (5, 4)
    """
    return sum(1 + ("\u2e80" <= c <= "\ua4cf") for c in text if c.isalnum())


def fits(document: Document, around: Around) -> Iterator[Fit]:
    """Yield the expressions of a document that may have written the slot."""
    segments = document.segments
    for at, segment in enumerate(segments):
        if segment.text is not None:
            continue
        same = [s for s in segments[:at] if s.block == segment.block]
        left = _walk(reversed(same), around.before, around.after, backwards=True)
        if left is None:
            continue
        same = [s for s in segments[at + 1 :] if s.block == segment.block]
        right = _walk(same, around.after, around.before, backwards=False)
        if right is None:
            continue
        fixed, loose = left.fixed + right.fixed, left.loose + right.loose
        needed = LEAST_FIXED + loose // _LOOSE_A_LETTER
        if fixed >= needed or (left.fixed and right.fixed and fixed >= _PROOF):
            source, span = written_at(document, at)
            yield Fit(
                document=document,
                number=at,
                source=source,
                span=span,
                sides=(left.fixed > 0) + (right.fixed > 0),
                loose=loose,
                fixed=fixed,
                missing=left.missing + right.missing,
            )


def _walk(segments: Iterable[Segment], near: str, far: str, *, backwards: bool) -> _Side | None:
    """Follow the literals away from an expression; None where that cannot be its surroundings."""
    rest, loose, fixed, missing, missed, any_text = near, 0, 0, 0, 0, False
    for literal in _literals(segments):
        any_text = True
        at = rest.rfind(literal) if backwards else rest.find(literal)
        if at < 0:
            if literal in far and literal not in near and letters(literal) >= LEAST_FIXED:
                return None  # it stands on the other side of the slot
            missed += 1
            if missed > _MISSED:
                break
            missing += letters(literal)
            continue
        missed = 0
        gap = rest[at + len(literal) :] if backwards else rest[:at]
        if not fixed:
            loose = len(gap.strip())
        fixed += letters(literal)
        rest = rest[:at] if backwards else rest[at + len(literal) :]
        if fixed > _ENOUGH:
            break
    if any_text and not fixed:
        return None
    return _Side(loose, fixed, missing, ends=not any_text)


def _literals(segments: Iterable[Segment]) -> Iterator[str]:
    return (text for s in segments if s.text is not None and (text := _literal(s.text)))


def standing(document: Document, text: str) -> tuple[int, int]:
    """Return the letters of a document's fixed text that stand in a text in order, and all."""
    found = total = at = 0
    for literal in _literals(document.segments):
        total += letters(literal)
        place = text.find(literal, at)
        if place >= 0:
            found += letters(literal)
            at = place + len(literal)
    return found, total


def best(fitting: Sequence[Fit]) -> list[Fit]:
    """Return the fits that no other is better than, one a place in the files.

    A file that is included by several documents is one place; of its fits the best counts. A copy
    in a test or an example comes after what is no copy.
    """
    by_place: dict[tuple[str, int, int], Fit] = {}
    for fit in fitting:
        place = (fit.source.path, *fit.span)
        known = by_place.get(place)
        if known is None or fit.rank > known.rank:
            by_place[place] = fit
    most = max((fit.rank for fit in by_place.values()), default=None)
    equal = [by_place[place] for place in sorted(by_place) if by_place[place].rank == most]
    return [fit for fit in equal if not fit.document.low_stakes] or equal
