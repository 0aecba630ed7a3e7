"""Sources in, findings out: the reader of each file, then every rule on every document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvaudit.analyzers.arbitration import arbitrate
from kvaudit.analyzers.check import find_check
from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.reader import Project, Unreadable, reader_for
from kvaudit.core.document import Document
from kvaudit.core.findings import Finding, LintResult, Skipped
from kvaudit.core.rulebook import Rule
from kvaudit.core.sources import Source


def lint_sources(
    sources: Iterable[Source], project: Project, rules: Sequence[Rule], profile: Profile
) -> LintResult:
    """Lint every source; a file without a reader counts as not checked and is no finding."""
    findings: list[Finding] = []
    skipped: list[Skipped] = []
    checked = documents = 0
    for source in sources:
        try:
            found = documents_of(source, project)
        except Unreadable as reason:
            skipped.append(Skipped(path=source.path, reason=str(reason)))
            continue
        if found is None:
            continue
        checked += 1
        documents += len(found)
        for document in found:
            findings += lint_document(document, rules, profile)
    return LintResult(
        findings=arbitrate(findings), checked=checked, skipped=skipped, documents=documents
    )


def documents_of(source: Source, project: Project) -> Sequence[Document] | None:
    """Return the prompts in a file; None where no reader takes it. Raises `Unreadable`."""
    reader = reader_for(source)
    if reader is None:
        return None
    missing = reader.missing()
    if missing is not None:
        raise Unreadable(missing)
    try:
        return reader.read(source, project)
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None


def lint_document(document: Document, rules: Sequence[Rule], profile: Profile) -> list[Finding]:
    """Return what the rules find in one prompt, before findings of one place are joined."""
    return [
        finding
        for rule in rules
        if document.kind in rule.inputs or "any" in rule.inputs
        for finding in find_check(rule)(document, rule, profile)
    ]
