"""Prompts asked once whose fixed beginning is too short for the provider to cache.

Says something only where the model is known, and its minimum; within a fifth of the limit, an
estimate of tokens decides nothing. A prefix below what is worth a change is not spoken of.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from kvaudit.analyzers.check import graded
from kvaudit.analyzers.checks.order import size
from kvaudit.analyzers.parameters import Parameters
from kvaudit.analyzers.profile import MIN_STABLE_TOKENS, Profile
from kvaudit.core.document import Document, Evidence, Volatility
from kvaudit.core.findings import Finding, Severity
from kvaudit.core.rulebook import Rule
from kvaudit.cost.providers.facts import Minimum, provider_named

PARAMETERS: Parameters = {}

_BAND = 0.8


def check(document: Document, rule: Rule, profile: Profile) -> Iterable[Finding]:
    """Find a fixed beginning that no request can share."""
    turns = document.multi_turn if profile.multi_turn is None else profile.multi_turn
    minimum = minimum_of(document, profile)
    if turns or document.markers or minimum is None or not minimum.certain:
        return
    fixed = list(
        takewhile(
            lambda s: s.text is not None and s.volatility <= Volatility.DEPLOY, document.segments
        )
    )
    tokens = sum(size(segment) for segment in fixed)
    if MIN_STABLE_TOKENS <= tokens < _BAND * minimum.tokens and len(fixed) < len(document.segments):
        yield Finding(
            code=rule.code,
            rule=rule.name,
            severity=graded(Severity(rule.severity), Evidence.DATAFLOW, document),
            evidence=Evidence.DATAFLOW,
            source=fixed[0].source,
            span=fixed[0].span,
            message=f"{rule.summary}: about {tokens} tokens, and {minimum.tokens:,} are the least",
            help=rule.help,
        )


def minimum_of(document: Document, profile: Profile) -> Minimum | None:
    """Return the shortest prefix that is cached for a prompt; None where it is not known."""
    model = profile.model or document.model
    provider = provider_named(profile.provider or document.provider, model)
    return None if provider is None or model is None else provider.minimum_of(model)
