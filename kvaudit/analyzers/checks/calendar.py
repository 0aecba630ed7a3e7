"""A date in the prefix: one refill a day, which matters where KV lives longer than that.

The finding is graver by one level where the profile says that KV is kept for a day or more, or
where the date stands before the tools. A prompt of one message that is asked once is reported
only for what it loses.
"""

from __future__ import annotations

from collections.abc import Iterable

from kvaudit.analyzers.check import graded
from kvaudit.analyzers.checks.order import Loss, finding, size
from kvaudit.analyzers.parameters import Parameters
from kvaudit.analyzers.profile import MIN_STABLE_TOKENS, Profile
from kvaudit.core.document import Document, Origin, Position
from kvaudit.core.findings import Finding, Severity
from kvaudit.core.rulebook import Rule

PARAMETERS: Parameters = {}


def check(document: Document, rule: Rule, profile: Profile) -> Iterable[Finding]:
    """Find dates in the tools and the system text."""
    turns = document.multi_turn if profile.multi_turn is None else profile.multi_turn
    for index, segment in enumerate(document.segments):
        if segment.origin is not Origin.DATE or segment.position > Position.SYSTEM:
            continue
        behind = [s for s in document.segments[index + 1 :] if s.volatility < segment.volatility]
        if not turns and sum(size(s) for s in behind) < MIN_STABLE_TOKENS:
            continue
        before_tools = any(s.position is Position.TOOLS for s in (segment, *behind))
        outlived = profile.retention_days >= 1 or before_tools
        severity = Severity.WARNING if outlived else Severity(rule.severity)
        yield finding(rule, segment, Loss.of(behind), graded(severity, segment.evidence, document))
