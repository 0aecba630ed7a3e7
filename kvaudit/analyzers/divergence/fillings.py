"""Lines or paragraphs of the instructions that fill in one template: `Trace ⟨…⟩`.

Pairs of requests show a value where they part in it. Where another fault stands in front of it, or
beside it in one of the two, no pair does. What the pairs have shown is enough to find it there as
well: two fillings begin alike, and what goes on behind one of them does so behind others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.divergence.destinations import end_of_first
from kvaudit.analyzers.divergence.fingerprints import common_units, repeated
from kvaudit.analyzers.divergence.follow import Divergences
from kvaudit.analyzers.divergence.labels import LEAST_LABEL, label_of, label_of_line, often
from kvaudit.analyzers.divergence.line_breaks import LineBreaks
from kvaudit.analyzers.divergence.relatives import GRAM
from kvaudit.analyzers.divergence.slots import length
from kvaudit.analyzers.divergence.spans import Span
from kvaudit.analyzers.template.request_log.texts import shared_head

_SAMPLE = 256
"""Pairs of a fault that are looked at for how its texts begin."""
_OFTEN = 0.05
"""Share of these that must show a beginning."""
_FILLINGS = 3
"""Different texts that stand in front of one and the same, for these to be filled in."""
_SESSIONS = 3
"""In which one and the same text is no filling, unless other fillings are followed alike."""
_NEARLY_ALL = 0.8
"""Share of what was lost to the fault that the texts must account for."""
_LONGEST = 16 * GRAM
"""Units behind the last parting in which the text that stands there ends."""
_UNIT = 4
"""Bytes of a unit."""


class Filling(NamedTuple):
    """A line or paragraph that may fill in a template."""

    place: int
    start: int
    end: int
    text: str
    behind: bytes
    """What the prompt goes on with."""


class Fillings:
    """The texts of one fault in all prompts, by how they begin."""

    def __init__(
        self,
        found: Divergences,
        members: NDArray[np.int64],
        breaks: LineBreaks,
        end_of_turn: int | None,
        *,
        paragraphs: bool,
        quoted: bool = False,
        beside: Sequence[Mapping[int, list[Span]]] = (),
        labels: tuple[str, ...] = (),
        followed: bool = False,
    ) -> None:
        """Look at the requests that part at the fault, ``members``.

        Its texts are lines, or whole ``paragraphs``. What is ``quoted`` stands in a later message
        as well, and may have several paragraphs. Lines of other faults, ``beside``, are no part.
        ``labels`` are how the lines of the fault's templates begin. Where
        running text of other faults may follow them, they are ``followed`` by what differs.
        """
        self._beside, self._labels, self._followed = beside, labels, followed
        self._found, self._members = found, members
        self._breaks, self._end_of_turn = breaks, end_of_turn
        self._paragraphs, self._quoted = paragraphs, quoted
        columns = found.columns()
        self._kin, self._shared, self._lost = (columns[name] for name in ("kin", "shared", "lost"))
        self._reach = int(self._shared[members].max(initial=0)) + 1
        self._header = self._first_line(members)
        self._firsts: set[int] = set()
        """Units with which the texts of pairs begin."""

    def spans(self) -> dict[int, list[tuple[int, int]]] | None:
        """Return the texts in each prompt; None where they do not account for the fault."""
        heads = self._heads()
        if not heads:
            return None
        candidates = list(self._beginning(heads))
        others = self._in_front_of({each.behind for each in candidates})
        spans: dict[int, list[tuple[int, int]]] = {}
        for each in self._filled(candidates, heads, others):
            end = self._end_of_quote(each) if self._quoted else each.end
            spans.setdefault(each.place, []).append((each.start, end))
        return spans if self._accounts(spans) else None

    def _filled(
        self,
        candidates: Sequence[Filling],
        heads: Sequence[str],
        others: Mapping[bytes, set[bytes]],
    ) -> Iterator[Filling]:
        """Yield the texts that fill in a template, of those that begin with a head.

        ``others`` is what stands in front of what they are followed by.
        """
        sessions = self._found.sessions()
        for head in heads:
            own = [each for each in candidates if each.text.startswith(head)]
            last = {each.text for each in own if len(each.behind) < _UNIT * GRAM}
            where: dict[str, set[str | None]] = {}
            for each in own:
                where.setdefault(each.text, set()).add(sessions[each.place])
            sure = {
                each.text
                for each in own
                if len(last if each.text in last else others[each.behind]) >= _FILLINGS
            }
            if (
                not sure
                and self._followed
                and len({each.behind for each in own}) >= _NEARLY_ALL * len(own)
            ):
                # Where another fault stands behind all of them, no two are followed by one text.
                sure = set(where) if len(where) >= _FILLINGS else sure
            if not sure:
                continue
            begin = label_of(reduce(lambda a, b: a[: shared_head(a, b)], sure))
            for each in own:
                rare = len(where[each.text]) < _SESSIONS and each.text.startswith(begin)
                if each.text in sure or rare:
                    yield each

    def _heads(self) -> list[str]:
        """Return how texts begin that two requests part in, the shortest ones first."""
        step = max(1, len(self._members) // _SAMPLE)
        votes: Counter[str] = Counter()
        within: Counter[str] = Counter()
        """Of these, pairs whose line goes on alike behind the value: it is not the value's own."""
        alone: Counter[str] = Counter()
        """The same of lines that one of two requests has, and the other has nothing for."""
        sample = self._members[::step].tolist()
        for place in sample:
            pair = [self._around(at, int(self._shared[place])) for at in (place, self._kin[place])]
            texts = [self._breaks.text(units) for units in pair]
            head = label_of(texts[0][: shared_head(*texts)])
            if length(head) >= LEAST_LABEL:
                votes[head] += 1
                within[head] += not self._paragraphs and _goes_on_alike(*pair)
                self._firsts.update(int(units[0]) for units in pair)
                continue
            lone = None if self._paragraphs else self._lone(place)
            label = "" if lone is None else label_of_line(self._breaks.text(lone))
            if lone is not None and label:
                alone[label] += 1
                self._firsts.add(int(lone[0]))
                continue
            # Where both go on with what differs as well, the template knows which is its line.
            for units, text in zip(pair, texts, strict=True):
                known = next((label for label in self._labels if text.startswith(label)), None)
                if known is not None:
                    alone[known] += 1
                    self._firsts.add(int(units[0]))
        least = max(1, _OFTEN * len(sample))
        heads = often(votes, least)
        own = [
            head
            for head in heads
            if votes[head] > 2 * sum(n for text, n in within.items() if text.startswith(head))
        ]
        return own if heads else often(alone, least)

    def _lone(self, place: int) -> NDArray[np.int32] | None:
        """Return the line that a request or its relative has in front of what both go on with."""
        kin, at = int(self._kin[place]), int(self._shared[place])
        for one, other in ((place, kin), (kin, place)):
            line, theirs = self._bounds(one, at), self._bounds(other, at)
            if line is None or theirs is None:
                continue
            units, start = self._instructions(one), theirs[0]
            behind = units[line[1] : line[1] + GRAM]
            if np.array_equal(behind, self._instructions(other)[start : start + GRAM]):
                return units[slice(*line)]
        return None

    def _around(self, place: int, at: int) -> NDArray[np.int32]:
        """Return the line or paragraph of a prompt that holds a unit, or begins there."""
        bounds = self._bounds(place, at)
        return self._instructions(place)[slice(*bounds or (0, 0))]

    def _bounds(self, place: int, at: int) -> tuple[int, int] | None:
        ends = self._ends(place, self._instructions(place))
        number = int(np.searchsorted(ends, at, side="right"))
        return None if number == len(ends) else (self._start(ends, number), int(ends[number]))

    def _beginning(self, heads: Sequence[str]) -> Iterator[Filling]:
        """Yield the texts of all prompts that begin like those of pairs."""
        for place, units, start, end in self._pieces():
            if int(units[start]) in self._firsts:
                text = self._breaks.text(units[start:end])
                if text.startswith(tuple(heads)):
                    yield Filling(place, start, end, text, units[end : end + GRAM].tobytes())

    def _in_front_of(self, texts: set[bytes]) -> dict[bytes, set[bytes]]:
        """Return what stands in front of texts in all prompts; nothing is something, too."""
        firsts = {text[:_UNIT] for text in texts}
        found: dict[bytes, set[bytes]] = {text: set() for text in texts}
        for _, units, start, end in self._pieces():
            places = [(units[start:end].tobytes(), end)]
            if start <= self._header:
                places.append((b"", start))
            for before, at in places:
                if units[at : at + 1].tobytes() in firsts:
                    behind = units[at : at + GRAM].tobytes()
                    if behind in found:
                        found[behind].add(before)
        return found

    def _pieces(self) -> Iterator[tuple[int, NDArray[np.int32], int, int]]:
        """Yield the lines or paragraphs of all instructions: place, units, start and end."""
        for place in range(len(self._found)):
            units = self._instructions(place)
            ends = self._ends(place, units)
            for number, end in enumerate(ends.tolist()):
                start = self._start(ends, number)
                if start < end:
                    yield place, units, start, end

    def _end_of_quote(self, text: Filling) -> int:
        """Return where the last of the paragraphs ends that stand in a later message too."""
        units = self._instructions(text.place)
        later = self._breaks.text(self._found.relatives.prompt(text.place)[len(units) :])
        end = text.end
        for other in self._ends(text.place, units).tolist():
            if other > end:
                said = self._breaks.text(units[end:other]).strip()
                if not said or said not in later:
                    break
                end = other
        return end

    def _accounts(self, spans: dict[int, list[tuple[int, int]]]) -> bool:
        """Whether nearly all of what was lost parts in, or in front of, such texts."""
        told = 0
        for place in self._members.tolist():
            at = int(self._shared[place])
            own = [*spans.get(place, ()), *spans.get(int(self._kin[place]), ())]
            told += int(self._lost[place]) * any(a <= at <= b for a, b in own)
        return told >= _NEARLY_ALL * int(self._lost[self._members].sum()) and bool(spans)

    def _instructions(self, place: int) -> NDArray[np.int32]:
        """Return the units of the first message; where none ends, as far as any request parts."""
        units = self._found.relatives.prompt(place)
        end = end_of_first(units, self._end_of_turn)
        return units[: self._reach + _LONGEST if end is None else end]

    def _ends(self, place: int, units: NDArray[np.int32]) -> NDArray[np.int64]:
        if not self._paragraphs:
            return self._breaks.lines(units)
        others = [end for spans in self._beside for _, end in spans.get(place, ())]
        return np.union1d(self._breaks.paragraphs(units), np.array(others, np.int64))

    def _start(self, ends: NDArray[np.int64], number: int) -> int:
        return int(ends[number - 1]) if number else min(self._header, int(ends[0]))

    def _first_line(self, members: NDArray[np.int64]) -> int:
        """Return how long the first line is, if all prompts have the same: the template's."""
        step = max(1, len(members) // _SAMPLE)
        firsts = set()
        for place in members[::step].tolist():
            units = self._instructions(place)
            firsts.add(units[: self._breaks.lines(units)[0]].tobytes())
        return len(firsts.pop()) // _UNIT if len(firsts) == 1 else 0


def _goes_on_alike(mine: NDArray[np.int32], yours: NDArray[np.int32]) -> bool:
    """Whether two lines, which may be cut off, have a run of shared text behind where they part."""
    common = common_units(mine, yours)
    return bool(repeated(mine[common:], yours[common:], GRAM)[-2 * GRAM :].any())
