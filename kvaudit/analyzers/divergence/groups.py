"""Requests that part at the same place of the same template, put together as they come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kvaudit.analyzers.divergence.classify import Verdict
from kvaudit.analyzers.divergence.slots import SLOT, merged, words_of
from kvaudit.core.why import Cause

MAX_GROUPS = 200
"""Templates that are told apart; beyond that, what is left of one place and cause is one."""
SHOWN_VALUES = 3
_CONTENT = (Cause.USER_TEXT_FIRST, Cause.RETRIEVED_CONTEXT_FIRST)
"""Causes whose slot is running text: what stands around it says nothing."""
_FEW = 0.05
"""Causes with a smaller share of a group do not decide what it is."""
_SESSIONS_TELL = 5
"""So many sessions must have stood still behind their first request to say that they do."""
_FIXED_WORDS = 2
"""Words around a slot that make it one of a template, and not the beginning of a task."""
_OF_A_SESSION = (
    Cause.RANDOM_ID,
    Cause.SUB_DAY_CLOCK,
    Cause.COUNTER,
    Cause.LIVE_STATE,
    Cause.UNCLASSIFIED,
)


class Seen:
    """What was seen of one cause in a group."""

    def __init__(self) -> None:
        """Start empty."""
        self.requests = 0
        self.least_before = 1 << 30
        """Characters of the line in front of the slot, the fewest that were met."""


@dataclass(slots=True)
class Group:
    """One place of one template; grows with what it is told."""

    number: int
    position: str
    title: str
    words: tuple[str, ...] = ()
    causes: dict[Cause, Seen] = field(default_factory=dict)
    values: dict[str, None] = field(default_factory=dict)
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
        """What the group is: the cause that stands first in the line and is more than a few."""
        total = sum(seen.requests for seen in self.causes.values())
        often = {c: s for c, s in self.causes.items() if s.requests >= _FEW * total}
        cause = min(often, key=lambda c: (often[c].least_before, -often[c].requests, c))
        constant = self.stood >= _SESSIONS_TELL and self.stood > 9 * self.later
        fixed = sum(1 for word in self.words if word != SLOT and word.isalnum())
        constant = constant and fixed >= _FIXED_WORDS
        return Cause.SESSION_VALUE if constant and cause in _OF_A_SESSION else cause


class Groups:
    """All groups of a log, in the order in which they were met."""

    def __init__(self) -> None:
        """Start empty."""
        self.all: list[Group] = []
        self._by_words: dict[tuple[str, str, tuple[str, ...]], Group] = {}
        self._by_place: dict[tuple[str, str], list[Group]] = {}
        self._begun: dict[str, int] = {}

    def add(self, verdict: Verdict, position: str, session: str | None, *, first: bool) -> int:
        """Put a request where it belongs; return the group's number."""
        place = "fewshot" if verdict.fewshot else position
        group = self._find(verdict, place)
        seen = group.causes.setdefault(verdict.cause, Seen())
        seen.requests += 1
        if verdict.slot is not None:
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

    def stands(self, session: str | None, number: int | None) -> None:
        """Note a request of a session that parts at the group ``number``, or not at all."""
        begun = self._begun.get(session) if session is not None else None
        if begun is not None and begun != number:
            self.all[begun].stood += 1

    def _find(self, verdict: Verdict, place: str) -> Group:
        content = verdict.cause in _CONTENT
        kind = f"{verdict.cause}:{verdict.title}" if verdict.title or content else ""
        if verdict.slot is None:
            return self._exactly(place, kind, (), verdict.title)
        words: tuple[str, ...] = words_of(verdict.slot)
        if content:
            words = (*words[: words.index(SLOT)], SLOT)
        known = self._by_words.get((place, kind, words))
        if known is not None:
            return known
        alike = self._by_place.get((place, kind), [])
        for group in alike:
            both = _start_alike(group.words, words) if content else merged(group.words, words)
            if both is not None:
                group.words = both
                self._by_words[place, kind, words] = group
                return group
        if len(self.all) >= MAX_GROUPS and alike:
            return alike[-1]
        return self._exactly(place, kind, words, "")

    def _exactly(self, place: str, kind: str, words: tuple[str, ...], title: str) -> Group:
        key = (place, kind, words)
        if key not in self._by_words:
            group = Group(len(self.all), place, title, words)
            self.all.append(group)
            self._by_words[key] = group
            self._by_place.setdefault((place, kind), []).append(group)
        return self._by_words[key]


def _start_alike(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    """Return what two lines begin with in common, and a slot: content is one group a place."""
    same = 0
    for a, b in zip(one, other, strict=False):
        if a != b or a == SLOT:
            break
        same += 1
    return (*one[:same], SLOT)
