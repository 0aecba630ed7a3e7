"""A changing block directly before a large one that rarely changes.

Fixed text behind the earlier turns is measured: where all of the prompt's is shorter than what a
provider caches, the finding is information only. What is large by its name cannot be measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from kvaudit.analyzers.check import graded
from kvaudit.analyzers.checks.minimum import minimum_of
from kvaudit.analyzers.checks.order import Loss, finding, size
from kvaudit.analyzers.naming import snake_case
from kvaudit.analyzers.parameters import Parameter, Parameters
from kvaudit.analyzers.profile import MIN_STABLE_TOKENS, Profile
from kvaudit.core.document import Document, Evidence, Position, Segment, Volatility
from kvaudit.core.findings import Finding, Severity
from kvaudit.core.rulebook import Rule
from kvaudit.cost.providers.facts import DEFAULT_MINIMUM

PARAMETERS: Parameters = {
    "large": Parameter(
        what="patterns of the names of things that are large and rarely change",
        of=list,
        needed=True,
        patterns=True,
    ),
}


def check(document: Document, rule: Rule, profile: Profile) -> Iterable[Finding]:
    """Find the first expression that changes each turn and has a large stable one behind it."""
    large = _pattern(tuple(rule.params["large"]))
    printed = [s for s in document.segments if s.expression is not None or size(s) >= 128]
    for first, second in pairwise(printed):
        if (
            first.expression is not None
            and first.volatility >= Volatility.TURN
            and first.position not in (Position.NEWEST, Position.TAIL)
            and second.volatility < first.volatility
            and (_is_large(second, large) or _is_behind_history(first, second))
        ):
            evidence = Evidence.BINDING if _is_behind_history(first, second) else Evidence.NAME
            severity = graded(Severity(rule.severity), evidence, document)
            if _is_behind_history(first, second) and _is_short(document, profile):
                severity = Severity.INFO
            yield finding(rule, first, Loss.of([second]), severity)
            return


def _is_behind_history(first: Segment, second: Segment) -> bool:
    """Whether a message of fixed text stands behind the earlier turns, which grow."""
    return (
        first.position is Position.HISTORY
        and second.position is Position.SYSTEM
        and size(second) >= MIN_STABLE_TOKENS
    )


def _is_short(document: Document, profile: Profile) -> bool:
    fixed = sum(size(s) for s in document.segments if s.volatility <= Volatility.DEPLOY)
    minimum = minimum_of(document, profile)
    return fixed < (DEFAULT_MINIMUM if minimum is None else minimum.tokens)


def _is_large(segment: Segment, large: re.Pattern[str]) -> bool:
    if segment.expression is None:
        return False
    if segment.tokens is not None:
        return segment.tokens >= MIN_STABLE_TOKENS
    bare = segment.expression.partition("|")[0].strip()
    return large.fullmatch(snake_case(bare)) is not None


@lru_cache
def _pattern(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(patterns))
