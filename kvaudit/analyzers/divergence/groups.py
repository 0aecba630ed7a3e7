"""Requests that part at the same place of the same template, put together as they come."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from zlib import crc32

from kvaudit.analyzers.divergence.slots import SLOT, Slot, merged, words_of
from kvaudit.analyzers.divergence.values import numbers_of
from kvaudit.analyzers.divergence.verdict import Anchors, Verdict
from kvaudit.core.why import Cause

MAX_GROUPS = 200
"""Templates that are told apart; beyond that, what is left of one place and cause is one."""
SHOWN_VALUES = 3
_FEW = 0.05
"""Causes with a smaller share of a group do not decide what it is."""
_LATER_TELL = 5
"""So many later requests must have stood still, of several sessions, to say that these do."""
_CHANGES = 0.3
"""Share of a group's requests that must be later ones of their session, for its text to change
from turn to turn."""
_FIXED_WORDS = 2
"""Words around a slot that make it one of a template, and not the beginning of a task."""
_LINE_CHARS = 160
_ALWAYS = 0.9
_OFTEN = 3
"""Pairs that show one line, before it is a template's where others show other lines."""
_OF_A_SESSION = (
    Cause.RANDOM_ID,
    Cause.SUB_DAY_CLOCK,
    Cause.COUNTER,
    Cause.LIVE_STATE,
    Cause.RETRIEVED_CONTEXT_FIRST,
    Cause.UNCLASSIFIED,
)
_TEXTS = (
    Cause.USER_TEXT_FIRST,
    Cause.RETRIEVED_CONTEXT_FIRST,
    Cause.LIVE_STATE,
    Cause.UNCLASSIFIED,
)


class Seen:
    """What was seen of one cause in a group."""

    def __init__(self) -> None:
        """Start empty."""
        self.requests = 0
        self.sure = 0
        """Pairs that alone showed the cause."""
        self.least_before = 1 << 30
        """Characters of the line in front of the slot, the fewest that were met."""


class Counting:
    """Whether the numbers in a slot go one way, from request to request."""

    def __init__(self) -> None:
        """Start with none."""
        self.up = self.down = self.others = 0
        self._last: int | None = None

    def add(self, verdict: Verdict) -> None:
        """Take the next request's slot."""
        if verdict.slot is not None and not (verdict.slot.later and verdict.slot.earlier):
            return  # one of the two has no such line
        found = None if verdict.slot is None else numbers_of(verdict.slot)
        if found is None:
            self.others += 1
            return
        later, earlier = found
        before = earlier if self._last is None else self._last
        self._last = later
        self.up += later > before
        self.down += later < before

    @property
    def goes_one_way(self) -> bool:
        """Whether there is nothing else in it."""
        return max(self.up, self.down) >= _ALWAYS * max(1, self.up + self.down + self.others)


@dataclass(slots=True)
class Group:
    """One place of one template; grows with what it is told."""

    number: int
    position: str
    title: str
    words: tuple[str, ...] = ()
    causes: dict[Cause, Seen] = field(default_factory=dict)
    values: dict[str, None] = field(default_factory=dict)
    numbers: Counting = field(default_factory=Counting)
    fixed: Counter[int] = field(default_factory=Counter)
    """How often which line, by its hash, followed the slot; 0 for a template's certain end."""
    alone: bool = True
    """Whether few pairs of other groups go on with a line that is not certain."""
    first: int = 0
    """Requests of it that were the first of their session."""
    later: int = 0
    stood: int = 0
    """Later requests of sessions that began here, and that did not part here again."""

    @property
    def template(self) -> str:
        """The line as text."""
        return self.title or "".join(self.words).strip()

    @property
    def cause(self) -> Cause:
        """What the group is, from all of its pairs."""
        if not self._is_template():
            return Cause.FIRST_SEEN
        cause = self._most_shown()
        if self.numbers.goes_one_way and cause in (Cause.UNCLASSIFIED, Cause.LIVE_STATE):
            return Cause.COUNTER
        if cause == Cause.COUNTER and not self.causes[cause].sure and not self.numbers.goes_one_way:
            cause = Cause.UNCLASSIFIED
        if cause in _TEXTS and not self._is_sure(cause) and self._changes_in_sessions():
            return Cause.LIVE_STATE
        if cause in _OF_A_SESSION and self._stands_in_sessions(cause):
            return Cause.SESSION_VALUE
        return cause

    def _is_template(self) -> bool:
        """Whether most pairs go on with one and the same line, and not with passages they share."""
        if not self.fixed or self.fixed[0]:
            return True
        total = self.fixed.total()
        return 2 * self.fixed.most_common(1)[0][1] >= total and (total >= _OFTEN or self.alone)

    def _most_shown(self) -> Cause:
        """Return the cause that stands first in the line and is more than a few."""
        total = sum(seen.requests for seen in self.causes.values())
        sure = sum(seen.sure for seen in self.causes.values())
        often = {c: s for c, s in self.causes.items() if s.requests >= _FEW * total}
        if all(c in _TEXTS for c in often):
            # Running text: where it begins says nothing, what is shown most often does.
            weights = {c: s.sure if 2 * sure >= total else s.requests for c, s in often.items()}
            return min(often, key=lambda c: (-weights[c], c))
        return min(often, key=lambda c: (often[c].least_before, -often[c].requests, c))

    def _is_sure(self, cause: Cause) -> bool:
        seen = self.causes.get(cause)
        total = sum(s.requests for s in self.causes.values())
        return seen is not None and 2 * seen.sure >= total

    def _changes_in_sessions(self) -> bool:
        often = self.later > 0 and self.later >= _CHANGES * (self.first + self.later)
        return often and self._fixed_words() > 0

    def _fixed_words(self) -> int:
        return sum(1 for word in self.words if word != SLOT and word.isalnum())

    def _stands_in_sessions(self, cause: Cause) -> bool:
        if self._is_sure(cause) and cause in _TEXTS:
            return False
        enough = self._fixed_words() >= (1 if cause == Cause.RANDOM_ID else _FIXED_WORDS)
        return (
            enough and self.first > 1 and self.stood >= _LATER_TELL and self.stood > 9 * self.later
        )


class Groups:
    """All groups of a log, in the order in which they were met."""

    def __init__(self) -> None:
        """Start empty."""
        self.all: list[Group] = []
        self._by_words: dict[tuple[str, str, tuple[str, ...]], Group] = {}
        self._by_place: dict[tuple[str, str], list[Group]] = {}
        self._by_anchor: dict[tuple[str, str, str], Group] = {}
        self._begun: dict[str, int] = {}
        self._uncertain: set[int] = set()

    def add(self, verdict: Verdict, position: str, session: str | None, *, first: bool) -> int:
        """Put a request where it belongs; return the group's number."""
        place = verdict.position or position
        group = self._find(verdict, place)
        seen = group.causes.setdefault(verdict.cause, Seen())
        seen.requests += 1
        seen.sure += verdict.sure
        group.numbers.add(verdict)
        self._note_line(group, verdict)
        if verdict.slot is not None:
            if verdict.slot.later and verdict.slot.earlier:
                seen.least_before = min(seen.least_before, len(verdict.slot.before))
            if len(group.values) < SHOWN_VALUES:
                for value in (verdict.slot.earlier, verdict.slot.later):
                    group.values.setdefault(value[:80], None)
        if session is not None and first:
            group.first += 1
            self._begun[session] = group.number
        elif session is not None and self._begun.get(session) == group.number:
            group.later += 1
        return group.number

    def _note_line(self, group: Group, verdict: Verdict) -> None:
        if not verdict.fixed:
            group.fixed[0] += 1
            return
        group.fixed[crc32(verdict.fixed.encode("utf-8", "replace")) | 1] += 1
        self._uncertain.add(group.number)
        if len(self._uncertain) == _OFTEN:
            for number in self._uncertain:
                self.all[number].alone = False
        elif len(self._uncertain) > _OFTEN:
            group.alone = False

    def stands(self, session: str | None, number: int | None) -> None:
        """Note a request of a session that parts at the group ``number``, or not at all."""
        begun = self._begun.get(session) if session is not None else None
        if begun is not None and begun != number:
            self.all[begun].stood += 1

    def _find(self, verdict: Verdict, place: str) -> Group:
        if verdict.slot is None:
            return self._exactly(place, f"{verdict.cause}:{verdict.title}", (), verdict.title)
        if verdict.anchors is not None:
            known = self._of_line(verdict.slot, place)
            return known or self._between(verdict.anchors, verdict, place)
        words = words_of(verdict.slot)
        known = self._by_words.get((place, "", words))
        if known is not None:
            return known
        alike = self._by_place.get((place, ""), [])
        for group in alike:
            both = merged(group.words, words)
            if both is not None:
                group.words = both
                self._by_words[place, "", words] = group
                return group
        if len(self.all) >= MAX_GROUPS and alike:
            return alike[-1]
        return self._exactly(place, "", words, "")

    def _of_line(self, slot: Slot, place: str) -> Group | None:
        """Return the template that a line fills in, of which the other text has nothing."""
        line = slot.later or slot.earlier
        if (slot.later and slot.earlier) or "\n" in line or len(line) > _LINE_CHARS:
            return None
        words = words_of(Slot(line, "", "", "", 0))[:-1]
        templates = self._by_place.get((place, ""), [])
        return next((g for g in templates if _fills(g.words, words)), None)

    def _between(self, anchors: Anchors, verdict: Verdict, place: str) -> Group:
        """Find the group of running text by the line it stands behind, or before."""
        ends = [
            (place, name, _without_numbers(line))
            for name, line in zip(anchors._fields, anchors, strict=True)
            if line
        ]
        group = next((self._by_anchor[end] for end in ends if end in self._by_anchor), None)
        if group is None:
            assert verdict.slot is not None
            head = anchors.before or verdict.slot.before
            words = (*words_of(Slot(head, "", "", "", 0))[:-1], SLOT)
            texts = self._by_place.get((place, "text"), [])
            full = len(self.all) >= MAX_GROUPS and texts
            group = texts[-1] if full else self._exactly(place, "text", words, "")
        for end in ends:
            self._by_anchor.setdefault(end, group)
        return group

    def _exactly(self, place: str, kind: str, words: tuple[str, ...], title: str) -> Group:
        key = (place, kind, words)
        if key not in self._by_words:
            group = Group(len(self.all), place, title, words)
            self.all.append(group)
            self._by_words[key] = group
            self._by_place.setdefault((place, kind), []).append(group)
        return self._by_words[key]


def _fills(template: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """Whether a line is a template filled in: it begins so, or has half of its words in order."""
    head = template[: template.index(SLOT)] if SLOT in template else template
    begins = any(word.isalnum() for word in head) and words[: len(head)] == head
    return begins or merged(template, words) is not None


def _without_numbers(line: str) -> str:
    return re.sub(r"\d+", "#", line.strip())
