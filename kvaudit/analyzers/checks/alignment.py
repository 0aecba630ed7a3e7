"""Shared prefixes that end inside a block of an engine that reuses whole blocks.

Parameters of a rule:

``fields``        names of the fields that hold a request's tokens
``block_tokens``  size of a block, where the configuration says none
``max_blocks``    a prefix of so many blocks or more loses too little to speak of
"""

from __future__ import annotations

from collections.abc import Iterable

from kvaudit.analyzers.check import graded
from kvaudit.analyzers.profile import Profile
from kvaudit.core.document import Document, Evidence
from kvaudit.core.findings import Finding, Severity
from kvaudit.core.rulebook import Rule


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
