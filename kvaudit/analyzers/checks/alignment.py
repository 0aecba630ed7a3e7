"""Shared prefixes that end inside a block of an engine that reuses whole blocks."""

from __future__ import annotations

from collections.abc import Iterable

from kvaudit.analyzers.check import graded
from kvaudit.analyzers.parameters import Parameter, Parameters
from kvaudit.analyzers.profile import Profile
from kvaudit.core.document import Document, Evidence
from kvaudit.core.findings import Finding, Severity
from kvaudit.core.rulebook import Rule

PARAMETERS: Parameters = {
    "fields": Parameter(
        what="names of the fields that hold the tokens of a request", of=list, needed=True
    ),
    "block_tokens": Parameter(
        what="size of a block, where the configuration says none", of=int, needed=True
    ),
    "max_blocks": Parameter(
        what="a prefix of so many blocks loses too little to speak of", of=int, needed=True
    ),
}


def check(document: Document, rule: Rule, profile: Profile) -> Iterable[Finding]:
    """Find the prefix of a log of tokens whose last block nobody shares."""
    block = profile.block_tokens or rule.params["block_tokens"]
    for shared in document.segments:
        blocks, rest = divmod(shared.tokens or 0, block)
        if shared.expression not in rule.params["fields"] or not rest:
            continue
        if blocks >= rule.params["max_blocks"]:
            continue
        yield Finding(
            code=rule.code,
            rule=rule.name,
            severity=graded(Severity(rule.severity), Evidence.DATAFLOW, document),
            evidence=Evidence.DATAFLOW,
            source=shared.source,
            span=shared.span,
            message=f"{rule.summary}: {shared.tokens} tokens are shared, and the last {rest} of "
            f"them stand in a block of {block} that no two requests share",
            help=rule.help,
            lost_tokens=rest,
            scope="fleet",
        )
