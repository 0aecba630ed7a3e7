"""Which units of every prompt are the text to blame, so that a fix can move them.

Known at first are pairs only: a request parts from its relative at a unit, and some units later
the two agree again; what lies between is the text to blame, in both. A request that shares more
with another has its text too. So spans are handed on along the tree that the requests form, each
hung under the earlier one with which it shares most: up to where a text was first met, and down
from there. One value is met in many lengths, as two times of one hour differ in the minutes only,
and some end alike by chance; all take over the earliest beginning and the latest end.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.divergence.fixed_text import FixedText
from kvaudit.analyzers.divergence.follow import Divergences
from kvaudit.analyzers.divergence.headings import Headings
from kvaudit.analyzers.divergence.own_lines import OwnLines
from kvaudit.analyzers.divergence.relatives import GRAM
from kvaudit.analyzers.divergence.spans import Span
from kvaudit.analyzers.divergence.values_before import ValuesBefore
from kvaudit.analyzers.divergence.without import Without

_ALIKE = 0.5
"""Share of what follows that two prompts have in common, to be of one application."""
_OUTLYING = 4
"""Times the length that texts have, from which on two prompts agree again by chance, and late."""
_SAMPLE = 32
"""Pairs of which the texts are looked at, before all are."""
_MORE = 128
"""Pairs of which the lines before the fixed text are looked at."""
_ROUNDS = 3
"""Ways up and down the tree: a beginning found below is handed up, across, and down again."""


class _Met(NamedTuple):
    """A request that parts from a relative."""

    place: int
    kin: int
    shared: int
    end: int
    """Where the two agree again, in the request."""
    kin_end: int
    """The same in its relative."""


class PairSpans:
    """The spans of one cause, by a request's place in replay order."""

    def __init__(
        self,
        found: Divergences,
        members: NDArray[np.int64],
        *,
        content: FixedText | None = None,
        lines: OwnLines | None = None,
        values: ValuesBefore | None = None,
        headings: Headings | None = None,
    ) -> None:
        """Find the text that the requests ``members`` part at, in all requests.

        ``content`` is the fixed text behind a text that is made of pieces which come back
        elsewhere, as passages do: it then ends where a text begins that most of the requests have.
        ``lines`` tells where a value's own lines end, ``values`` where values begin that stand
        behind content, ``headings`` what content stands behind.
        """
        self._found = found
        columns = found.columns()
        self._beside = columns["beside"].tolist()
        self._near = columns["near"].tolist()
        self.of: dict[int, list[Span]] = {}
        self._pairs: list[_Met] = []
        self._lines, self._values = lines, values
        self._from_pairs(members, columns, content)
        for _ in range(_ROUNDS):
            self._hand_up()
            self._hand_down()
        if headings is not None:
            for place, span in headings.found(len(found), self.of).items():
                self._add(place, *span)
        if content is not None:
            self._end_as_without(members.tolist(), columns["kin"].tolist())

    def _from_pairs(
        self,
        members: NDArray[np.int64],
        columns: dict[str, NDArray[np.int64]],
        common: FixedText | None,
    ) -> None:
        """Take the spans of pairs that have most in common, and of others where there are none.

        Two prompts of different applications agree again much later than where the text ends.
        """
        again = columns["lost"][members]
        behind = columns["prompt"][members] - columns["near"][members]
        alike = again >= _ALIKE * behind
        pairs = [
            (bool(sure), self._pair(place, kin, shared, resumes, common))
            for sure, place, kin, shared, resumes in zip(
                alike.tolist(),
                members.tolist(),
                *(columns[name][members].tolist() for name in ("kin", "shared", "resumes")),
                strict=True,
            )
            if resumes >= 0
        ]
        pairs = self._cut_before_values(self._cut_to_lines(pairs))
        longest = _OUTLYING * median([_reach(pair) for _, pair in pairs] or [0]) + GRAM
        pairs.sort(key=lambda entry: not entry[0])
        for sure, pair in pairs:
            if _reach(pair) > longest or not (sure or self._span(pair.place, pair.shared) is None):
                continue
            if sure:
                self._pairs.append(pair)
            self._add(pair.place, pair.shared, pair.end)
            if sure or self._span(pair.kin, pair.shared) is None:
                self._add(pair.kin, pair.shared, pair.kin_end)

    def _pair(
        self, place: int, kin: int, shared: int, resumes: int, common: FixedText | None
    ) -> _Met:
        relatives, end = self._found.relatives, shared + resumes
        if common is None:
            there = relatives.resumes_at(place, kin, shared, resumes)
            return _Met(place, kin, shared, end, shared if there is None else there)
        end, kin_end = common.begin(place, shared, end), common.begin(kin, shared, shared)
        # Texts that end alike, in a full stop, have that in common too; the relative may not.
        for at in range(end, min(end + GRAM, relatives.length(place))):
            there = relatives.resumes_at(place, kin, shared, at - shared)
            if there is not None and abs(there - kin_end) < GRAM:
                return _Met(place, kin, shared, at, there)
        return _Met(place, kin, shared, end, kin_end)

    def _cut_to_lines(self, pairs: list[tuple[bool, _Met]]) -> list[tuple[bool, _Met]]:
        """End values where their own lines do, if some of them are followed by another fault."""
        if self._lines is None:
            return pairs
        step = max(1, len(pairs) // _SAMPLE)
        if all(_in_lines(pair, self._lines) == pair for _, pair in pairs[::step]):
            return pairs
        return [(sure, _in_lines(pair, self._lines)) for sure, pair in pairs]

    def _cut_before_values(self, pairs: list[tuple[bool, _Met]]) -> list[tuple[bool, _Met]]:
        """End content where values begin that stand between it and the fixed text."""
        values, prompt = self._values, self._found.relatives.prompt
        if values is None:
            return pairs
        step = max(1, len(pairs) // _MORE)
        values.look([(prompt(pair.place), pair.end) for _, pair in pairs[::step]])
        return [
            (
                sure,
                pair._replace(
                    end=values.start(prompt(pair.place), pair.end, pair.shared),
                    kin_end=values.start(prompt(pair.kin), pair.kin_end, pair.shared),
                ),
            )
            for sure, pair in pairs
        ]

    def _hand_up(self) -> None:
        for pair in reversed(self._pairs):
            self._even(pair)
        for place in range(len(self._beside) - 1, -1, -1):
            self._hand_on(place, self._beside[place], self._near[place])

    def _hand_down(self) -> None:
        for place, parent in enumerate(self._beside):
            self._hand_on(parent, place, self._near[place])
        for pair in self._pairs:
            self._even(pair)

    def _end_as_without(self, members: Sequence[int], kin: Sequence[int]) -> None:
        """End each text where the prompt goes on as those do that have none at its place.

        What most requests have begins one token early where all passages end in the same one.
        """
        prompt = self._found.relatives.prompt
        without = Without()
        for place, spans in self.of.items():
            if all(a == b for a, b in spans):
                for a, _ in spans:
                    without.add(prompt(place), a)
        for place in members:  # a text whose end no pair has shown begins where its relative's does
            if not any(a < b for a, b in self.of.get(place, ())):
                starts = [(a, a) for a, b in self.of.get(kin[place], ()) if a < b]
                self.of.setdefault(place, []).extend(starts)
        for place, spans in self.of.items():
            units = prompt(place)
            ends = [(a, without.end(units, a)) for a, _ in spans]
            spans[:] = _joined(
                [
                    (a, b if end is None else end)
                    for (a, b), (_, end) in zip(spans, ends, strict=True)
                ]
            )

    def _even(self, pair: _Met) -> None:
        """Let a text begin and end at the same place of what both requests of a pair have."""
        own, other = (self._span(place, pair.shared) for place in (pair.place, pair.kin))
        if own is None or other is None:
            return
        start = min(own[0], other[0])
        more = max(own[1] - pair.end, other[1] - pair.kin_end, 0)
        self._add(pair.place, start, pair.end + more)
        self._add(pair.kin, start, pair.kin_end + more)

    def _hand_on(self, giver: int, taker: int, shared: int) -> None:
        """Hand on what both have in full, and where a text begins that they part in."""
        if giver < 0 or taker < 0:
            return
        for a, b in self.of.get(giver, ()):
            if b <= shared:
                self._add(taker, a, b)
            elif a <= shared and (span := self._span(taker, shared)) is not None:
                self._add(taker, a, span[1])

    def _add(self, place: int, start: int, end: int) -> None:
        spans = self.of.setdefault(place, [])
        if any(a <= start and end <= b for a, b in spans):
            return
        spans[:] = _joined([*spans, (start, end)])

    def _span(self, place: int, at: int) -> Span | None:
        return next((span for span in self.of.get(place, ()) if span[0] <= at <= span[1]), None)


def _in_lines(pair: _Met, lines: OwnLines) -> _Met:
    """Return a pair that agrees again behind the value's own lines, at the latest."""
    own = lines.reach(pair.place, pair.kin, pair.shared)
    if own is None or pair.shared + own[0] >= pair.end:
        return pair
    return pair._replace(end=pair.shared + own[0], kin_end=pair.shared + own[1])


def _reach(pair: _Met) -> int:
    """Return how long the longer of two texts is that differ."""
    return max(pair.end, pair.kin_end) - pair.shared


def _joined(spans: list[Span]) -> list[Span]:
    """Return ranges in order, those that overlap as one."""
    joined: list[Span] = []
    for a, b in sorted(spans):
        if joined and a <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(b, joined[-1][1]))
        else:
            joined.append((a, b))
    return joined
