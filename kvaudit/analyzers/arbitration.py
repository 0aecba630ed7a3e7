"""One place, one finding: what is left when several rules point at the same text.

Within a prompt:

* Of several values in one block that change, the most volatile is reported; the others become
  notes of it, unless they are graver. Of several that one rule finds, equally volatile, it is the
  gravest, and the first of those.
* The order in which something was found is part of the finding that it is there at all.
* A layout rule (KV2xx) says nothing in a block where a KV0xx error stands before it, since moving
  that text is the greater gain; but KV203 also concerns the history.

Between prompts: the same rule at the same span, from two documents that share a file, is one
finding, and of several rules about one span of text the gravest stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

from kvaudit.core.document import Document, Segment
from kvaudit.core.findings import Finding, Related, Severity

_STABILITY = "KV0"
_ABOUT_TEXT = ("KV0", "KV1", "KV2")
"""Families whose findings are about what a text holds; those of KV3xx are about marks."""


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
    for one in seen:
        if any(_silences(other, one) or _tells_of(other, one) for other in seen):
            continue
        above = max((other for other in seen if _outweighs(other, one)), key=_weight, default=None)
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


def _gravity(finding: Finding) -> tuple[int, int, int]:
    # Of two that are equally grave, the one of the lower code: rules go from text to layout.
    return finding.severity.rank, -int(finding.code[2:]), finding.lost_tokens or 0


def _silences(other: _Seen, one: _Seen) -> bool:
    code = one.finding.code
    if not code.startswith("KV2") or code == "KV203":
        return False
    return (
        other.finding.code.startswith(_STABILITY)
        and other.finding.severity is Severity.ERROR
        and other.finding.source.path == one.finding.source.path
        and other.finding.span.start <= one.finding.span.start
        and (one.segment is None or other.segment is None or _same_block(other, one))
    )


def _outweighs(other: _Seen, one: _Seen) -> bool:
    """Whether a finding is only a note to another: less volatile, in its block, no graver."""
    if other.segment is None or one.segment is None or not _same_block(other, one):
        return False
    mine, yours = one.finding, other.finding
    if not (mine.code.startswith(_STABILITY) and yours.code.startswith(_STABILITY)):
        return False
    if other.segment.volatility == one.segment.volatility:
        return mine.code == yours.code and _rank(other) > _rank(one)
    return (
        other.segment.volatility > one.segment.volatility
        and yours.severity.rank >= mine.severity.rank
    )


def _rank(seen: _Seen) -> tuple[int, int]:
    return seen.finding.severity.rank, -seen.place


def _tells_of(other: _Seen, one: _Seen) -> bool:
    """Whether a finding about a text already shows the place of one about its order."""
    return (
        one.segment is None
        and other.segment is not None
        and other.finding.severity.rank >= one.finding.severity.rank
        and any(
            (step.source.path, step.span) == (one.finding.source.path, one.finding.span)
            for step in other.segment.trail
        )
    )


def _same_block(other: _Seen, one: _Seen) -> bool:
    assert other.segment is not None
    assert one.segment is not None
    return (other.segment.position, other.segment.block) == (
        one.segment.position,
        one.segment.block,
    )


def _weight(seen: _Seen) -> tuple[int, int, int]:
    assert seen.segment is not None
    return seen.segment.volatility, *_rank(seen)


def _with_notes(finding: Finding, notes: Sequence[Finding]) -> Finding:
    if not notes:
        return finding
    further = [
        Related(source=note.source, span=note.span, label=f"also {note.rule}")
        for note in sorted(notes, key=attrgetter("span", "rule"))
    ]
    return replace(finding, related=(*finding.related, *further))
