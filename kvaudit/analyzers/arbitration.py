"""One place, one finding: what is left when several rules point at the same text.

Within a prompt:

* Of several values in one block that change, the most volatile is reported; the others become
  notes of it, unless they are graver. Of several that one rule finds, equally volatile, it is the
  gravest, and the first of those.
* The order in which something was found is part of the finding that it is there at all.
* A layout rule (KV2xx) says nothing in a block where a KV0xx finding that fails a build, and is as
  grave, stands before it: while that text stands there, moving this one gains nothing. But KV203
  also concerns the history.

Between prompts: the same rule at the same span, from two documents that share a file, is one
finding, and of several rules about one span of text the gravest stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from kvaudit.core.document import Document, Segment
from kvaudit.core.doubt import Doubt
from kvaudit.core.findings import Finding, Related, Severity
from kvaudit.core.sources import Span

_STABILITY = "KV0"
_ABOUT_TEXT = ("KV0", "KV1", "KV2")
"""Families whose findings are about what a text holds; those of KV3xx are about marks."""
_ANYWHERE = "anywhere"


class _Seen(NamedTuple):
    """A finding and the segment it points at, where it points at one."""

    finding: Finding
    segment: Segment | None
    place: int
    """Of the segment, in the order in which they are rendered."""


def settled(document: Document, findings: Sequence[Finding]) -> list[Finding]:
    """Return what is reported of one prompt."""
    segments = {(s.source.path, s.span): (s, i) for i, s in enumerate(document.segments)}
    seen = [_Seen(f, *segments.get((f.source.path, f.span), (None, -1))) for f in findings]
    kept: list[Finding] = []
    notes: dict[int, list[Finding]] = {}
    rivals = _Rivals(seen)
    for one in seen:
        if rivals.silence(one) or rivals.tell_of(one):
            continue
        beside = (other for other in rivals.beside(one) if _outweighs(other, one))
        above = max(beside, key=_weight, default=None)
        if above is None:
            kept.append(one.finding)
        else:
            notes.setdefault(id(above.finding), []).append(one.finding)
    return [_with_notes(f, notes.get(id(f), ())) for f in kept]


def arbitrate(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that are reported, by file and place."""
    unique: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        subject = "text" if finding.code.startswith(_ABOUT_TEXT) else finding.rule
        key = (subject, finding.source.path, finding.span)
        known = unique.get(key)
        if known is None or _gravity(known) < _gravity(finding):
            unique[key] = finding
    return sorted(unique.values(), key=lambda f: (f.source.path, f.span, f.code))


def _gravity(finding: Finding) -> tuple[int, int, int, int]:
    # Of two that are equally grave, the one of the lower code: rules go from text to layout. Of
    # two of one rule, that whose chain was followed further.
    followed = len(Doubt) if finding.doubt is None else finding.doubt.rank
    return finding.severity.rank, -int(finding.code[2:]), followed, finding.lost_tokens or 0


class _Rivals:
    """Of many findings those that count for others: of each kind the first in each block.

    A file may hold thousands of findings of one kind, so that each is not held against each.
    """

    def __init__(self, seen: Iterable[_Seen]) -> None:
        self._first: dict[tuple[str, object, Severity], int] = {}
        """Where the first of the KV0xx family stands in a file, by block and how grave it is."""
        self._beside: dict[object, dict[object, _Seen]] = {}
        self._shown: dict[tuple[str, Span], int] = {}
        """Places on the way of a value, and how grave the finding about it is."""
        for one in seen:
            self._enter(one)

    def _enter(self, one: _Seen) -> None:
        finding, segment = one.finding, one.segment
        is_stability = finding.code.startswith(_STABILITY)
        if is_stability and finding.severity is not Severity.INFO:
            for block in (_ANYWHERE, _block(segment)):
                place = (finding.source.path, block, finding.severity)
                self._first[place] = min(
                    self._first.get(place, finding.span.start), finding.span.start
                )
        if segment is None:
            return
        if is_stability:
            kinds = self._beside.setdefault(_block(segment), {})
            kind = (finding.code, segment.volatility, finding.severity)
            if kind not in kinds or one.place < kinds[kind].place:
                kinds[kind] = one
        for step in segment.trail:
            shown = (step.source.path, step.span)
            self._shown[shown] = max(self._shown.get(shown, 0), finding.severity.rank)

    def silence(self, one: _Seen) -> bool:
        """Whether a KV0xx finding that is as grave stands before a layout finding, in its block."""
        finding = one.finding
        if not finding.code.startswith("KV2") or finding.code == "KV203":
            return False
        blocks = (_ANYWHERE,) if one.segment is None else (None, _block(one.segment))
        first = (
            self._first.get((finding.source.path, block, severity))
            for block in blocks
            for severity in Severity
            if severity.rank >= finding.severity.rank
        )
        return any(start is not None and start <= finding.span.start for start in first)

    def tell_of(self, one: _Seen) -> bool:
        """Whether a finding about a text already shows the place of one about its order."""
        place = (one.finding.source.path, one.finding.span)
        return one.segment is None and self._shown.get(place, 0) >= one.finding.severity.rank

    def beside(self, one: _Seen) -> Iterable[_Seen]:
        """Return the findings that one in the same block may be a note of."""
        return () if one.segment is None else self._beside.get(_block(one.segment), {}).values()


def _block(segment: Segment | None) -> object:
    return None if segment is None else (segment.position, segment.block)


def _outweighs(other: _Seen, one: _Seen) -> bool:
    """Whether a finding is only a note to another of its block: less volatile, no graver."""
    if other.segment is None or one.segment is None:
        return False
    mine, yours = one.finding, other.finding
    if not mine.code.startswith(_STABILITY):
        return False
    if other.segment.volatility == one.segment.volatility:
        return mine.code == yours.code and _rank(other) > _rank(one)
    return (
        other.segment.volatility > one.segment.volatility
        and yours.severity.rank >= mine.severity.rank
    )


def _rank(seen: _Seen) -> tuple[int, int]:
    return seen.finding.severity.rank, -seen.place


def _weight(seen: _Seen) -> tuple[int, int, int]:
    assert seen.segment is not None
    return seen.segment.volatility, *_rank(seen)


def _with_notes(finding: Finding, notes: Sequence[Finding]) -> Finding:
    if not notes:
        return finding
    # One value may stand in a text several times, and is told of once.
    places = {(note.source.path, note.span, note.rule): note.source for note in notes}
    further = [
        Related(source=places[place], span=place[1], label=f"also {place[2]}")
        for place in sorted(places)
    ]
    return replace(finding, related=(*finding.related, *further))
