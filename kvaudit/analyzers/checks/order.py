"""Volatility must not fall along a prompt: what stands behind a changing text is lost.

The loss of a segment is the tokens after it, in the same reuse scope, whose volatility is
lower.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kvaudit.analyzers.check import graded
from kvaudit.analyzers.checks import observed
from kvaudit.analyzers.meant import is_meant
from kvaudit.analyzers.parameters import Parameter, Parameters
from kvaudit.analyzers.profile import MIN_STABLE_TOKENS, Profile
from kvaudit.analyzers.sizes import estimate_tokens
from kvaudit.core.document import Document, Evidence, Origin, Position, Segment, Volatility
from kvaudit.core.findings import OUT_OF_REACH, Finding, Related, Severity
from kvaudit.core.rulebook import Rule

_SHARED = ("tools", "system", "fewshot", "history")

_ASKED = (Origin.UNKNOWN, Origin.USER_INPUT, Origin.RETRIEVED)
"""What a prompt of one request holds of that request, as far as its names say."""

_DESCRIBES = re.compile(r"(\w*\.)+(name|schema|description|parameters)", re.IGNORECASE)
"""Fields by which tools and agents are listed, which are those of the program."""

PARAMETERS: Parameters = {
    "origins": Parameter(
        what="kinds of value that it speaks of", of=list, needed=True, words=tuple(Origin)
    ),
    "positions": Parameter(
        what=f"where they matter; otherwise {', '.join(_SHARED)}",
        of=list,
        words=tuple(position.name.lower() for position in Position),
    ),
    "min_tokens": Parameter(
        what="fewer fixed tokens behind a value are not worth a finding; "
        f"otherwise {MIN_STABLE_TOKENS}",
        of=int,
    ),
    "always": Parameter(
        what="in a conversation report a value of a turn whatever stands behind it, since "
        "further turns do",
        of=bool,
    ),
    "kinds": observed.MEAN_THE_SAME,
    "is_salt": Parameter(
        what="say nothing where tenants are kept apart on purpose, and make it an error where "
        "each request is a conversation of its own",
        of=bool,
    ),
}


def check(document: Document, rule: Rule, profile: Profile) -> Iterable[Finding]:
    """Find segments of the rule's origins that stand before text which changes less often."""
    yield from observed.check(document, rule, profile)
    origins = set(rule.params["origins"])
    positions = {Position[name.upper()] for name in rule.params.get("positions", _SHARED)}
    least = rule.params.get("min_tokens", MIN_STABLE_TOKENS)
    turns = document.multi_turn if profile.multi_turn is None else profile.multi_turn
    is_salt = bool(rule.params.get("is_salt"))
    if is_salt and profile.isolate_tenants:
        return
    base = Severity.ERROR if is_salt and profile.multi_turn is False else Severity(rule.severity)
    kept = bool(rule.params.get("always")) and turns
    alone = not turns and document.sent and _is_one_message(document)
    asked = False
    for segment, behind in with_loss(document.segments):
        looked_at = segment.position in positions or (alone and _differs_each_time(segment))
        if segment.origin.value not in origins or not looked_at:
            asked = asked or _is_asked(segment)
            continue
        weak = segment.evidence is Evidence.NAME and segment.origin is Origin.LIVE_STATE
        if (behind.known if weak else behind.tokens) < least and not (
            kept and segment.volatility >= Volatility.TURN
        ):
            continue
        if not is_meant(segment):
            # What is asked once differs already: at best two of the same text are asked.
            severity = Severity.INFO if asked and not turns else base
            yield finding(rule, segment, behind, graded(severity, segment.evidence, document))


def _is_asked(segment: Segment) -> bool:
    """Whether a text before a value is of one request, so that no other shares what is behind."""
    if segment.origin is Origin.UNKNOWN and _DESCRIBES.fullmatch(segment.expression or ""):
        return False
    return segment.origin in _ASKED


def _is_one_message(document: Document) -> bool:
    """Whether a prompt is a newest turn and nothing else, so that its own text is what repeats."""
    blocks = {(segment.position, segment.block) for segment in document.segments}
    return len(blocks) == 1 and all(position is Position.NEWEST for position, _ in blocks)


def _differs_each_time(segment: Segment) -> bool:
    return segment.volatility >= Volatility.TURN and segment.evidence is not Evidence.NAME


class Loss(NamedTuple):
    """What stands behind a segment and changes less often."""

    tokens: int
    largest: Segment | None
    known: int
    """The tokens of it that are written out. What is only called a memory or a state may be as
    fixed as anything; a size that is guessed as well is then no ground for a finding."""

    @classmethod
    def of(cls, behind: Iterable[Segment]) -> Loss:
        """Return the loss of segments that are known to be behind."""
        rows = list(behind)
        known = sum(size(row) for row in rows if row.text is not None)
        return cls(sum(map(size, rows)), max(rows, key=size, default=None), known)


def with_loss(segments: Sequence[Segment]) -> list[tuple[Segment, Loss]]:
    """Return every segment with what stands behind it and changes less often."""
    behind = {level: Loss(0, None, 0) for level in Volatility}
    found = []
    for segment in reversed(segments):
        found.append((segment, behind[segment.volatility]))
        tokens = size(segment)
        written = tokens if segment.text is not None else 0
        for level, (lost, largest, known) in behind.items():
            if level > segment.volatility:
                first = largest is None or tokens >= size(largest)
                last = segment if first else largest
                behind[level] = Loss(lost + tokens, last, known + written)
    return found[::-1]


def size(segment: Segment) -> int:
    """Return a segment's tokens by estimate; an expression of unknown size counts nothing."""
    if segment.tokens is not None:
        return segment.tokens
    return 0 if segment.text is None else estimate_tokens(segment.text)


def finding(rule: Rule, segment: Segment, behind: Loss, severity: Severity) -> Finding:
    """Return the finding that a segment keeps what stands behind it from being shared."""
    related = [Related(source=s.source, span=s.span, label=s.label) for s in segment.trail]
    largest = behind.largest
    if largest is not None:
        related.append(Related(source=largest.source, span=largest.span, label=OUT_OF_REACH))
    shown = segment.expression or (segment.text or "").strip()
    return Finding(
        code=rule.code,
        rule=rule.name,
        severity=severity,
        evidence=segment.evidence,
        source=segment.source,
        span=segment.span,
        message=f"{rule.summary}: {_short(shown)}",
        help=rule.help,
        lost_tokens=behind.tokens,
        scope="session" if segment.volatility >= Volatility.TURN else "fleet",
        related=related,
    )


def _short(text: str, limit: int = 60) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
