"""Content of one request before instructions that all requests share.

Where all fixed text together is shorter than what a provider caches, moving it gains nothing
there, and where nearly all of it stands in front already, next to nothing: the finding is
information only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kvaudit.analyzers.check import graded
from kvaudit.analyzers.checks.minimum import minimum_of
from kvaudit.analyzers.checks.order import Loss, finding, size
from kvaudit.analyzers.parameters import Parameter, Parameters
from kvaudit.analyzers.profile import Profile
from kvaudit.core.document import Document, Evidence, Origin, Position, Segment, Volatility
from kvaudit.core.findings import Finding, Severity
from kvaudit.core.rulebook import Rule
from kvaudit.cost.providers.facts import DEFAULT_MINIMUM

SHARED = "kvaudit: shared"
"""A comment on the line, or the one before, says that many requests share the content."""

SMALL_SHARE = 1 / 8
"""Of the fixed text: who loses less has built the prompt the right way round."""

PARAMETERS: Parameters = {
    "origins": Parameter(
        what="kinds of content that it speaks of", of=list, needed=True, words=tuple(Origin)
    ),
    "before_history": Parameter(
        what="look in the system text with further turns behind it, and not before fixed text "
        "of the same message",
        of=bool,
    ),
    "min_tokens": Parameter(
        what="fewer fixed tokens behind the content are not worth a finding", of=int
    ),
    "min_tokens_single": Parameter(what="the same, for a prompt of one message", of=int),
}


def check(document: Document, rule: Rule, profile: Profile) -> Iterable[Finding]:
    """Find the first segment of each message that holds content of one request too early."""
    segments = document.segments
    fixed = sum(size(s) for s in segments if s.volatility <= Volatility.DEPLOY)
    least = rule.params.get("min_tokens", 0)
    if len({s.block for s in segments}) == 1:
        least = rule.params.get("min_tokens_single", least)
    minimum = minimum_of(document, profile)
    least_cached = DEFAULT_MINIMUM if minimum is None else minimum.tokens
    reported: set[int] = set()
    for index, segment in enumerate(segments):
        if not _speaks_of(rule, segment) or segment.block in reported:
            continue
        hoisted = _before_history(segment, segments[index + 1 :])
        if hoisted is not bool(rule.params.get("before_history")):
            continue
        if not hoisted and _behind_turns(segment, segments[:index]):
            continue
        behind = [s for s in _same_message(segment, segments[index + 1 :]) if s.text is not None]
        lost = sum(size(s) for s in behind)
        if not hoisted and lost < least:
            continue
        reported.add(segment.block)
        severity = graded(Severity(rule.severity), segment.evidence, document)
        if not hoisted and (fixed < least_cached or lost < fixed * SMALL_SHARE):
            severity = Severity.INFO
        if hoisted and _is_said_again(segment, segments[index + 1 :]):
            severity = Severity.INFO
        yield finding(rule, segment, Loss.of(behind), severity)


def _speaks_of(rule: Rule, segment: Segment) -> bool:
    return (
        segment.expression is not None
        and segment.origin.value in rule.params["origins"]
        and segment.position in (Position.SYSTEM, Position.FEWSHOT, Position.NEWEST)
        and not _said_to_be_shared(segment)
    )


def _before_history(segment: Segment, behind: Sequence[Segment]) -> bool:
    """Whether the turns of a conversation stand behind a segment of the system text.

    A history in the same message counts where a newest turn follows it; without one, the prompt
    is about a conversation and not part of it.
    """
    if segment.position is not Position.SYSTEM:
        return False
    turns = [i for i, s in enumerate(behind) if s.position is Position.HISTORY]
    if not turns:
        return False
    return any(behind[i].block != segment.block for i in turns) or any(
        s.origin is Origin.USER_INPUT or s.position is Position.NEWEST for s in behind[turns[0] :]
    )


def _behind_turns(segment: Segment, before: Sequence[Segment]) -> bool:
    """Whether a conversation stands before a newest turn, whose fixed text none can share then."""
    return segment.position is Position.NEWEST and any(
        s.position is Position.HISTORY and s.block != segment.block for s in before
    )


def _is_said_again(segment: Segment, behind: Sequence[Segment]) -> bool:
    """Whether the newest turn has an input of its own, and this one is only called like one.

    What is asked before the conversation begins then stays the same while it lasts.
    """
    if segment.evidence is not Evidence.NAME or segment.origin is not Origin.USER_INPUT:
        return False
    turns = [i for i, s in enumerate(behind) if s.position is Position.HISTORY]
    newest = (s.expression for s in behind[turns[-1] :] if s.origin is Origin.USER_INPUT)
    own = _words(segment.expression)
    return any(not _words(expression) & own for expression in newest)


def _words(expression: str | None) -> set[str]:
    return set(re.findall(r"\w+", expression or ""))


def _same_message(segment: Segment, behind: Iterable[Segment]) -> Sequence[Segment]:
    return [s for s in behind if s.block == segment.block and s.volatility < segment.volatility]


def _said_to_be_shared(segment: Segment) -> bool:
    line = segment.source.place(segment.span.start).line
    return any(SHARED in segment.source.line(n) for n in (line - 1, line) if n > 0)
