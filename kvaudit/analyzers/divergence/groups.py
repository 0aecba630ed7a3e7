"""Requests that part at the same place of the same template, put together as they come."""

from __future__ import annotations

import re
from zlib import crc32

from kvaudit.analyzers.divergence.group import OFTEN, Group, Seen, fills
from kvaudit.analyzers.divergence.slots import SLOT, Slot, merged, words_of
from kvaudit.analyzers.divergence.verdict import Anchors, Verdict
from kvaudit.core.why import Cause

MAX_GROUPS = 200
"""Templates that are told apart; beyond that, what is left of one place and cause is one."""
SHOWN_VALUES = 3
_LINE_CHARS = 160


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
        lone = _lone_line(verdict.slot)
        if lone is None:
            group.pairs += 1
        elif len(group.lone) < SHOWN_VALUES:
            group.lone.append(lone)
        self._note_line(group, verdict)
        if verdict.slot is not None:
            if (verdict.slot.later and verdict.slot.earlier) or (lone and verdict.slot.before):
                seen.least_before = min(seen.least_before, len(verdict.slot.before))
            if len(group.texts) <= 2:
                group.texts.update(
                    map(hash, filter(str.strip, (verdict.slot.later, verdict.slot.earlier)))
                )
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
        if len(self._uncertain) == OFTEN:
            for number in self._uncertain:
                self.all[number].alone = False
        elif len(self._uncertain) > OFTEN:
            group.alone = False

    def begun(self, session: str) -> int | None:
        """Return the group at which the first request of a session parted."""
        return self._begun.get(session)

    def stands(self, session: str) -> None:
        """Note a later request of a session that has the text at which its first one parted."""
        self.all[self._begun[session]].stood += 1

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
        return next((g for g in templates if fills(g.words, words)), None)

    def _between(self, anchors: Anchors, verdict: Verdict, place: str) -> Group:
        """Find the group of running text by the line it stands behind, or before."""
        # Beside the user's own words another text may stand at the same place.
        asked = verdict.cause is Cause.USER_TEXT_FIRST and verdict.sure
        kind = "asked" if asked else "text"
        ends = [
            (place, kind + name, _without_numbers(line))
            for name, line in zip(anchors._fields, anchors, strict=True)
            if line
        ]
        group = next((self._by_anchor[end] for end in ends if end in self._by_anchor), None)
        if group is None:
            assert verdict.slot is not None
            head = anchors.before or verdict.slot.before
            words = (*words_of(Slot(head, "", "", "", 0))[:-1], SLOT)
            texts = self._by_place.get((place, kind), [])
            full = len(self.all) >= MAX_GROUPS and texts
            group = texts[-1] if full else self._exactly(place, kind, words, "")
        for end in ends:
            self._by_anchor.setdefault(end, group)
        return group

    def _exactly(self, place: str, kind: str, words: tuple[str, ...], title: str) -> Group:
        key = (place, kind, words)
        if key not in self._by_words:
            templates = self._by_place.setdefault((place, ""), [])
            group = Group(len(self.all), place, title, words, beside=templates)
            self.all.append(group)
            self._by_words[key] = group
            self._by_place.setdefault((place, kind), []).append(group)
        return self._by_words[key]


def _lone_line(slot: Slot | None) -> str | None:
    """Return the line of which only one of two texts has a value; None where both have."""
    if slot is None or bool(slot.later) is bool(slot.earlier):
        return None
    return f"{slot.before}{slot.later or slot.earlier}{slot.after}"


def _without_numbers(line: str) -> str:
    return re.sub(r"\d+", "#", line.strip())
