"""What of all that was found is reported: one finding a place, without what the user knows of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pathspec import GitIgnoreSpec

from kvaudit.analyzers.arbitration import arbitrate
from kvaudit.analyzers.baseline import Baseline
from kvaudit.analyzers.changed import NewLines
from kvaudit.analyzers.run import Looked, findings_of
from kvaudit.analyzers.silence import silence
from kvaudit.core.findings import Finding, LintResult, Skipped
from kvaudit.core.rulebook import Rule, names_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What the user knows of, or does not want to see."""

    rules: Sequence[Rule]
    known: Sequence[str]
    """Every name and code there is, whether used in this run or not."""
    place: Callable[[str], str] = str
    """From a reported path to the one that baselines mean."""
    pattern_place: Callable[[str], str] = str
    """From a reported path to the one that ``per_file`` means."""
    published: Callable[[str], str] = str
    """From a reported path to the one that a service means which shows the repository."""
    per_file: Mapping[str, Sequence[str]] | None = None
    """Pattern of paths to the rules that are not used there."""
    baseline: Baseline | None = None
    new_lines: NewLines | None = None
    reasons: bool = False
    """Whether a suppression must say why."""


def settle(looked: Sequence[Looked], terms: Terms) -> LintResult:
    """Return the result of a run over all files."""
    checked = [seen for seen in looked if seen.skipped is None]
    elsewhere = _Elsewhere(terms)
    findings = arbitrate(
        f for f in findings_of(checked) if not elsewhere.unused(f.source.path, f.rule)
    )
    directives = [d for seen in checked for d in seen.directives]
    findings, silenced = silence(
        _keyed(findings, terms.place), directives, terms.rules, terms.known, reasons=terms.reasons
    )
    stale: Sequence[str] = ()
    if terms.baseline is not None:
        findings, known, stale = terms.baseline.apply(
            findings, silenced, {terms.place(seen.path) for seen in checked}, terms.rules
        )
        silenced = [*silenced, *known]
    new = findings if terms.new_lines is None else terms.new_lines.only(findings)
    refused = [Skipped(path=s.path, reason=s.skipped) for s in looked if s.skipped is not None]
    return LintResult(
        findings=new,
        checked=len(checked),
        skipped=refused,
        silenced=silenced,
        documents=sum(seen.documents for seen in checked),
        stale=stale,
        not_new=len(findings) - len(new),
        crashes=[f"{s.path}: {s.crash}" for s in looked if s.crash is not None],
        rules={rule.name: rule for rule in terms.rules},
        published=terms.published,
    )


def _keyed(findings: Sequence[Finding], place: Callable[[str], str]) -> list[Finding]:
    """Return the findings with fingerprints; equal ones are told apart by their order."""
    seen: Counter[str] = Counter()
    keyed = []
    for finding in findings:
        path = place(finding.source.path)
        alike = finding.fingerprint(0, path)
        before = seen[alike]
        key = finding.fingerprint(before, path) if before else alike
        keyed.append(replace(finding, key=key))
        seen[alike] += 1
    return keyed


class _Elsewhere:
    """Which rules are not used in which files."""

    def __init__(self, terms: Terms) -> None:
        self._place = terms.pattern_place
        self._patterns = [
            (
                GitIgnoreSpec.from_lines([pattern]),
                {name for word in words for name in names_of(terms.rules, word)},
            )
            for pattern, words in (terms.per_file or {}).items()
        ]

    def unused(self, path: str, rule: str) -> bool:
        """Whether the configuration says that a rule does not hold in a file."""
        return any(
            rule in names and spec.match_file(self._place(path)) for spec, names in self._patterns
        )
