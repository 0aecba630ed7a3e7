"""One place, one finding: what is left when several rules point at the same text.

* The same rule at the same span, from two documents that share a file, is one finding.
* A layout rule (KV2xx) says nothing where a KV0xx error stands before it in the same file,
  since moving that text is the greater gain; but KV203 also concerns the history.
"""

from __future__ import annotations

from collections.abc import Iterable

from kvaudit.core.findings import Finding, Severity


def arbitrate(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that are reported, by file and place."""
    unique: dict[tuple[str, str, int, int], Finding] = {}
    for finding in findings:
        key = (finding.rule, finding.source.path, finding.span.start, finding.span.end)
        known = unique.get(key)
        if known is None or (known.severity.rank, known.lost_tokens or 0) < (
            finding.severity.rank,
            finding.lost_tokens or 0,
        ):
            unique[key] = finding
    kept = [f for f in unique.values() if not _overruled(f, unique.values())]
    return sorted(kept, key=lambda f: (f.source.path, f.span, f.code))


def _overruled(finding: Finding, others: Iterable[Finding]) -> bool:
    if not finding.code.startswith("KV2") or finding.code == "KV203":
        return False
    return any(
        other.code.startswith("KV0")
        and other.severity is Severity.ERROR
        and other.source.path == finding.source.path
        and other.span.start <= finding.span.start
        for other in others
    )
