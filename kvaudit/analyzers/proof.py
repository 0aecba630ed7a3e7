"""Whether a finding is proved, link by link; what lacks a link is information only.

A finding fails a build at `warning` and above, so its chain must hold: the text is sent to a model,
what stands in it changes from one request to the next, somebody could have read from a cache what
it spoils, and there is enough of that. A link that only a name suggests is none. Each link is a
condition of its own here, in the order in which it is told; none knows a rule, a library or a
project.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kvaudit.analyzers.checks.order import size
from kvaudit.analyzers.profile import MIN_STABLE_TOKENS
from kvaudit.core.document import (
    Document,
    Evidence,
    Observation,
    Origin,
    Position,
    Segment,
    Volatility,
)
from kvaudit.core.doubt import Doubt
from kvaudit.core.findings import Finding, Severity
from kvaudit.cost.providers.facts import DEFAULT_MINIMUM

CODE = frozenset(("python", "javascript", "typescript", "go", "rust"))
"""Readers of programs, where a text may be anything; a template is a prompt and nothing else."""

_DIFFER_EACH_TIME = frozenset((
    Origin.CLOCK, Origin.RANDOM, Origin.COUNTER, Origin.HEADER, Origin.TRANSPORT,
    Origin.SIGNED_URL, Origin.OBJECT_REPR, Origin.USER_INPUT, Origin.DATE, Origin.HOST,
))  # fmt: skip
"""Kinds of value that cannot be the same for long, whatever the program does. What is read from
a store (a memory, a session, a user) may be: only the traffic tells. What was looked up there with
the words of a request differs with them."""

_UNPROVED_ANYWAY = frozenset((Doubt.ASIDE, Doubt.STAYS, Doubt.SMALL))
"""Links that a call of a model, were it in sight, would not add."""

_OF_PROMPTS = ("KV0", "KV1", "KV2", "KV3")
"""Families that speak of prompts; engines are proved by what they are."""

_OF_KEYS = "KV4"
_OF_SETUPS = ("KV5", "KV6")
"""Families that speak of how a cache or an engine is set up: in a test, to see what it does."""
_WHERE_SHOWN = frozenset((Doubt.NO_CACHE, Doubt.NO_ANSWER))
"""Links of keys that count as missing only where a file of the run shows another key's."""

_SYSTEM_TEXT = re.compile(r"(?:^|[^a-z])system(?:[^a-z]|$)")

_SPEAKS_TO_A_MODEL = re.compile(r"\b(you(r|rself)?|act as|assistant)\b", re.IGNORECASE)
"""Without such a word a short file called a system text is a note that is put in anywhere."""

_BOUND_BY = re.compile(
    r"\b(limit|maximum|max|budget|at most|more than|up to|within|exceed)( of| the)*[\s:*`]*\Z",
    re.IGNORECASE,
)
"""What is said before a number that is a bound, and does not count what was done."""

_MAY_STAY = frozenset(("listing-order", "retrieval-order", "unsorted-json"))
"""Orders that another system decides, and that it may well keep."""


def held(
    document: Document, finding: Finding, segments: Sequence[Segment], said: Collection[str]
) -> Finding:
    """Return a finding as grave as its proof allows, with the first link that is missing.

    ``segments`` are the document's that stand where the finding points; ``said`` are the names of
    which the user said what they hold.
    """
    if finding.severity is Severity.INFO:
        return finding
    if not finding.code.startswith(_OF_PROMPTS):
        return _of_key(document, finding)
    missing = [*_missing(document, finding, segments, said), *finding.unseen]
    if not missing:
        return finding
    unproved = _UNPROVED_ANYWAY.intersection(missing) or (Doubt.NAMED in missing and not segments)
    restored = None if unproved else finding.severity
    return replace(finding, severity=Severity.INFO, doubt=missing[0], undoubted=restored)


def _of_key(document: Document, finding: Finding) -> Finding:
    """Return a finding about a cache or engine with the first link that its reader did not see."""
    aside = document.of_test and finding.code.startswith(_OF_SETUPS)
    aside |= document.low_stakes and finding.code.startswith(_OF_KEYS)
    missing = [Doubt.ASIDE, *finding.unseen] if aside else finding.unseen
    if not missing:
        return finding
    restored = finding.severity if _WHERE_SHOWN.issuperset(missing) else None
    return replace(finding, severity=Severity.INFO, doubt=missing[0], undoubted=restored)


def sends(documents: Iterable[Document]) -> bool:
    """Whether a program is seen to send any of these prompts to a model."""
    return any(document.sent for document in documents if document.kind in CODE)


def where_nothing_is_sent(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield a run's findings where no call of a model was seen in any of its files.

    A folder of prompts alone, or one file of a program, cannot show where they are sent. That no
    call is seen proves nothing then, and what is named like a prompt is taken for one.
    """
    for finding in findings:
        if finding.doubt is Doubt.NOT_SENT and finding.undoubted is not None:
            finding = replace(finding, severity=finding.undoubted, doubt=None, undoubted=None)
        yield finding


def in_collection(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings of a run over prompts that are only kept: what a name says is no proof.

    The programs that these texts were written for are elsewhere, and fill them as they like.
    """
    for finding in findings:
        named = finding.evidence is Evidence.NAME and finding.code.startswith(_OF_PROMPTS)
        if named and finding.severity is not Severity.INFO:
            finding = replace(finding, severity=Severity.INFO, doubt=Doubt.NOT_SENT)
        yield finding


def most_often(
    filled: Iterable[Mapping[tuple[str, int], Volatility]],
) -> Mapping[tuple[str, int], Volatility]:
    """Return the holes of templates, each with the most often that it is filled anew."""
    most: dict[tuple[str, int], Volatility] = {}
    for holes in filled:
        for hole, volatility in holes.items():
            most[hole] = max(volatility, most.get(hole, volatility))
    return most


def where_filled_once(
    findings: Iterable[Finding], filled: Mapping[tuple[str, int], Volatility]
) -> Iterator[Finding]:
    """Yield a run's findings; a name in a template is no ground where a program shows better.

    What it is seen to fill a hole with, when it is loaded, stays until it is started again.
    """
    for finding in findings:
        named = finding.evidence is Evidence.NAME and finding.severity is not Severity.INFO
        if named and finding.code.startswith(_OF_PROMPTS):
            hole = (finding.source.path, finding.span.start)
            if filled.get(hole, Volatility.REQUEST) <= Volatility.DEPLOY:
                finding = replace(finding, severity=Severity.INFO, doubt=Doubt.STAYS)
        yield finding


def where_none_is_shown(findings: Iterable[Finding], shown: Collection[Doubt]) -> Iterator[Finding]:
    """Yield a run's findings about keys, where links that none of its files shows do not count.

    One file of a program shows the function that makes a key, or the cache, and not who asks.
    """
    for finding in findings:
        if finding.code.startswith(_OF_KEYS) and finding.undoubted is not None:
            unseen = [link for link in finding.unseen if link in shown]
            finding = (
                replace(finding, doubt=unseen[0])
                if unseen
                else replace(finding, severity=finding.undoubted, doubt=None, undoubted=None)
            )
        yield finding


def _missing(
    document: Document, finding: Finding, segments: Sequence[Segment], said: Collection[str]
) -> Iterator[Doubt]:
    if document.low_stakes:
        yield Doubt.ASIDE
    if not document.sent:
        yield Doubt.NOT_SENT
    segment = segments[0] if segments else None
    known = segment is not None and _is_said(segment, said)
    named = finding.evidence is Evidence.NAME and not known
    if document.kind not in CODE:
        if named and segment is not None:
            yield from _missing_of_name(document, segment)
        return
    if named:
        yield Doubt.NAMED
    if any(seen.kind in _MAY_STAY for seen in _observed(document, finding)):
        yield Doubt.STAYS
    if segment is None or segment.text is not None:
        return
    if segment.origin not in _DIFFER_EACH_TIME and not known and not segment.asked:
        yield Doubt.STAYS
    if not _loses_enough(document, segment, DEFAULT_MINIMUM):
        yield Doubt.SMALL


def _missing_of_name(document: Document, segment: Segment) -> Iterator[Doubt]:
    """Yield what a name in a template does not say; the finding is a level lower already.

    Not that something called a memory or a state is read anew on each call, nor that a
    conversation goes on behind a text, unless the file is called a system text and reads like one.
    """
    if segment.origin is Origin.LIVE_STATE or _is_bound(document, segment):
        yield Doubt.STAYS
    is_system_text = _SYSTEM_TEXT.search(document.name.lower()) and any(
        _SPEAKS_TO_A_MODEL.search(s.text) for s in document.segments if s.text is not None
    )
    if not is_system_text and not _loses_enough(document, segment, MIN_STABLE_TOKENS):
        yield Doubt.SMALL


def _is_bound(document: Document, segment: Segment) -> bool:
    """Whether what is called a count is the most that there may be: ``the limit of N steps``."""
    at = next(i for i, s in enumerate(document.segments) if s is segment)
    before = document.segments[at - 1].text if at else None
    return segment.origin is Origin.COUNTER and bool(_BOUND_BY.search((before or "")[-60:]))


def _is_said(segment: Segment, said: Collection[str]) -> bool:
    return bool(set(re.findall(r"\w+", segment.expression or "")) & set(said))


def _observed(document: Document, finding: Finding) -> Iterator[Observation]:
    for seen in document.observations:
        if (seen.source.path, seen.span) == (finding.source.path, finding.span):
            yield seen


def _loses_enough(document: Document, segment: Segment, least: int) -> bool:
    """Whether turns of a conversation stand behind a segment, or as much fixed text.

    What comes with each request of one user, such as where he is, stays for his conversation.
    """
    at = next(i for i, s in enumerate(document.segments) if s is segment)
    behind = document.segments[at + 1 :]
    in_session = segment.volatility >= Volatility.TURN and segment.origin is not Origin.HEADER
    if in_session and any(s.position is Position.HISTORY for s in behind):
        return True
    fixed = (s for s in behind if s.text is not None and s.volatility < segment.volatility)
    return sum(map(size, fixed)) >= least
