"""Cache markers against the prompt they stand in, and what the provider does with them.

Reads markers, blocks and sizes of a document, whatever language it was read from; what readers
observed of the same fault themselves counts too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kvaudit.analyzers.check import graded
from kvaudit.analyzers.checks import observed
from kvaudit.analyzers.checks.markers import limits, stability
from kvaudit.analyzers.checks.markers.fault import Seen, Setting
from kvaudit.analyzers.parameters import Parameter, Parameters
from kvaudit.analyzers.profile import Profile
from kvaudit.core.document import Document
from kvaudit.core.findings import Finding, Severity
from kvaudit.core.rulebook import Rule
from kvaudit.cost.providers.facts import provider_named


def check(document: Document, rule: Rule, profile: Profile) -> Iterator[Finding]:
    """Find what the rule's ``find`` names, unless the reader observed the same already."""
    seen_by_reader = list(observed.check(document, rule, profile))
    if seen_by_reader:
        yield from seen_by_reader
        return
    model = document.model or profile.model
    turns = document.multi_turn if profile.multi_turn is None else profile.multi_turn
    provider = provider_named(document.provider or profile.provider, model)
    for seen in _FINDERS[rule.params["find"]](document, Setting(provider, model, turns)):
        yield Finding(
            code=rule.code,
            rule=rule.name,
            severity=graded(seen.severity or Severity(rule.severity), seen.evidence, document),
            evidence=seen.evidence,
            source=seen.source,
            span=seen.span,
            message=f"{rule.summary}: {seen.detail}",
            help=rule.help,
            lost_tokens=seen.lost,
            scope="session" if turns else "fleet",
            related=[] if seen.related is None else [seen.related],
        )


def _observed_only(document: Document, setting: Setting) -> Iterator[Seen]:
    """Nothing that this check could see itself: readers observe it."""
    return iter(())


_FINDERS: dict[str, Callable[[Document, Setting], Iterator[Seen]]] = {
    "on-volatile": stability.on_volatile,
    "mixed-block": stability.mixed_block,
    "no-marker": limits.no_marker,
    "too-many": limits.too_many,
    "below-minimum": limits.below_minimum,
    "lifetime-order": limits.lifetime_order,
    "moving": stability.moving,
    "one-shot": stability.one_shot,
    "dropped": limits.dropped,
    "observed": _observed_only,
}

PARAMETERS: Parameters = {
    "find": Parameter(what="what it looks for", of=str, needed=True, words=_FINDERS),
    **observed.PARAMETERS,
    "kinds": observed.MEAN_THE_SAME,
}
