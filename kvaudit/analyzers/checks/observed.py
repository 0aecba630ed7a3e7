"""Things that readers observed about how a request is built."""

from __future__ import annotations

from collections.abc import Iterable

from kvaudit.analyzers.check import graded
from kvaudit.analyzers.observations import KINDS
from kvaudit.analyzers.parameters import Parameter, Parameters
from kvaudit.analyzers.profile import Profile
from kvaudit.core.document import Document
from kvaudit.core.findings import Finding, Related, Severity
from kvaudit.core.rulebook import Rule

MEAN_THE_SAME = Parameter(what="observations that mean the same", of=list, words=KINDS)
"""For a check that looks itself, and takes what readers observed for it, too."""

PARAMETERS: Parameters = {
    "kinds": Parameter(what="observations that it speaks of", of=list, needed=True, words=KINDS),
    "milder": Parameter(
        what="those of them that count one level less than the rule says", of=list, words=KINDS
    ),
    "isolated": Parameter(
        what="those of them that count only where tenants are to be kept apart",
        of=list,
        words=KINDS,
    ),
}


def check(document: Document, rule: Rule, profile: Profile) -> Iterable[Finding]:
    """Find the observations of the rule's kinds."""
    kinds, milder = set(rule.params.get("kinds", ())), set(rule.params.get("milder", ()))
    if not profile.isolate_tenants:
        kinds -= set(rule.params.get("isolated", ()))
    for seen in document.observations:
        if seen.kind in kinds:
            severity = Severity(rule.severity)
            severity = severity.lowered() if seen.kind in milder else severity
            yield Finding(
                code=rule.code,
                rule=rule.name,
                severity=graded(
                    severity.raised() if seen.graver else severity, seen.evidence, document
                ),
                evidence=seen.evidence,
                source=seen.source,
                span=seen.span,
                message=f"{rule.summary}: {seen.detail}",
                help=rule.help,
                lost_tokens=seen.lost_tokens,
                unseen=seen.unseen,
                related=[
                    Related(source=step.source, span=step.span, label=step.label)
                    for step in seen.trail
                ],
            )
