"""One place of one template: what its pairs showed, and the cause that all of them show."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from kvaudit.analyzers.divergence.slots import SLOT, Slot, merged, words_of
from kvaudit.analyzers.divergence.values import numbers_of
from kvaudit.analyzers.divergence.verdict import TEXTS, Verdict
from kvaudit.core.why import Cause

_FEW = 0.05
"""Causes with a smaller share of a group do not decide what it is."""
_LATER_TELL = 5
"""So many later requests must have stood still, of several sessions, to say that these do."""
_CHANGES = 0.3
"""Share of a group's requests that must be later ones of their session, for its text to change
from turn to turn."""
_FIXED_WORDS = 2
"""Words around a slot that make it one of a template, and not the beginning of a task."""
_ALWAYS = 0.9
OFTEN = 3
"""Pairs that show one line, before it is a template's where others show other lines."""
_COMES_AGAIN = 0.4
"""Share of a differing text that others have too, from which on it was looked up and not asked."""
_OF_A_SESSION = (
    Cause.RANDOM_ID,
    Cause.SUB_DAY_CLOCK,
    Cause.COUNTER,
    Cause.LIVE_STATE,
    Cause.RETRIEVED_CONTEXT_FIRST,
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
    texts: set[int] = field(default_factory=set)
    """What stood in the slot, by hash: up to three of them."""
    numbers: Counting = field(default_factory=Counting)
    fixed: Counter[int] = field(default_factory=Counter)
    """How often which line, by its hash, followed the slot; 0 for a template's certain end."""
    alone: bool = True
    """Whether few pairs of other groups go on with a line that is not certain."""
    first: int = 0
    """Requests of it that were the first of their session."""
    later: int = 0
    one_text: bool = False
    """Whether it was met in prompts that are one text, whose messages cannot be told apart."""
    beside: list[Group] = field(default_factory=list)
    """All templates of its place."""
    lone: list[str] = field(default_factory=list)
    """Lines that one text of a pair had and the other had nothing for; some of them."""
    pairs: int = 0
    """Requests of it that are no such lines."""
    again: int = 0
    """Fingerprints of what differs that other sessions had before."""
    marks: int = 0
    """All fingerprints of what differs."""
    stood: int = 0
    """Later requests of sessions that began here, and that have the same text here."""

    def recurs(self, again: int, marks: int) -> None:
        """Note how much of a text that differs had been met before."""
        self.again += again
        self.marks += marks

    @property
    def comes_again(self) -> bool:
        """Whether what differs is made of texts that other requests have too."""
        return self.marks > 0 and self.again >= _COMES_AGAIN * self.marks

    @property
    def certain(self) -> bool:
        """Whether pairs go on with text that is fixed for certain."""
        return bool(self.fixed[0])

    @property
    def template(self) -> str:
        """The line as text."""
        return self.title or "".join(self.words).strip()

    @property
    def cause(self) -> Cause:
        """What the group is, from all of its pairs."""
        if not self._is_template():
            return Cause.FIRST_SEEN
        if self.root is not self:
            return self.root.cause
        cause = self._most_shown()
        if self.numbers.goes_one_way and cause in (Cause.UNCLASSIFIED, Cause.LIVE_STATE):
            return Cause.COUNTER
        if cause == Cause.COUNTER and not self.causes[cause].sure and not self.numbers.goes_one_way:
            cause = Cause.UNCLASSIFIED
        if cause in TEXTS and self.comes_again and not self.is_sure(cause):
            return Cause.UNCLASSIFIED if self._is_one_of_two() else Cause.RETRIEVED_CONTEXT_FIRST
        if cause in TEXTS and not self.is_sure(cause) and self._changes_in_sessions():
            return Cause.LIVE_STATE
        if cause in _OF_A_SESSION and self._stands_in_sessions(cause):
            return Cause.SESSION_VALUE
        return cause

    @property
    def root(self) -> Group:
        """The template of which all lines that were met alone are fillings; itself, if none is."""
        if self.pairs:
            return self
        lines = [words_of(Slot(line, "", "", "", 0))[:-1] for line in self.lone]
        return next(
            (g for g in self.beside if g.pairs and lines and all(fills(g.words, w) for w in lines)),
            self,
        )

    def _is_template(self) -> bool:
        """Whether most pairs go on with one and the same line, and not with passages they share."""
        if not self.fixed or self.fixed[0]:
            return True
        total = self.fixed.total()
        return 2 * self.fixed.most_common(1)[0][1] >= total and (total >= OFTEN or self.alone)

    def _most_shown(self) -> Cause:
        """Return the cause that stands first in the line and is more than a few."""
        total = sum(seen.requests for seen in self.causes.values())
        sure = sum(seen.sure for seen in self.causes.values())
        often = {c: s for c, s in self.causes.items() if s.requests >= _FEW * total}
        if all(c in TEXTS for c in often):
            # Running text: where it begins says nothing, what is shown most often does.
            weights = {c: s.sure if 2 * sure >= total else s.requests for c, s in often.items()}
            return min(often, key=lambda c: (-weights[c], c))
        return min(often, key=lambda c: (often[c].least_before, -often[c].requests, c))

    def is_sure(self, cause: Cause) -> bool:
        """Whether most pairs show a cause each by itself."""
        seen = self.causes.get(cause)
        total = sum(s.requests for s in self.causes.values())
        return seen is not None and 2 * seen.sure >= total

    def _is_one_of_two(self) -> bool:
        """Whether all have one text or the other, as two agents do; what is looked up differs."""
        total = sum(seen.requests for seen in self.causes.values())
        return total >= OFTEN and len(self.texts) <= 2

    def _changes_in_sessions(self) -> bool:
        often = self.later > 0 and self.later >= _CHANGES * (self.first + self.later)
        return often and self._fixed_words() > 0

    def _fixed_words(self) -> int:
        return sum(1 for word in self.words if word != SLOT and word.isalnum())

    def _stands_in_sessions(self, cause: Cause) -> bool:
        if self.is_sure(cause) and cause in TEXTS:
            return False
        enough = self._fixed_words() >= (1 if cause == Cause.RANDOM_ID else _FIXED_WORDS)
        return (
            enough and self.first > 1 and self.stood >= _LATER_TELL and self.stood > 9 * self.later
        )


def fills(template: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """Whether a line is a template filled in: it begins so, or has half of its words in order."""
    head = template[: template.index(SLOT)] if SLOT in template else template
    begins = any(word.isalnum() for word in head) and words[: len(head)] == head
    return begins or merged(template, words) is not None
