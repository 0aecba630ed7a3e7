"""Sources in, findings out: the reader of each file, then every rule on every document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from kvaudit.analyzers.arbitration import settled
from kvaudit.analyzers.check import find_check
from kvaudit.analyzers.fixers import with_fix
from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.proof import (
    held,
    in_collection,
    most_often,
    sends,
    where_filled_once,
    where_none_is_shown,
    where_nothing_is_sent,
)
from kvaudit.analyzers.reader import Project, Unreadable, reader_by_name, reader_for, readers_beside
from kvaudit.analyzers.stakes import low_stakes, of_test
from kvaudit.analyzers.suppress import Directive, directives_of
from kvaudit.core.document import Document, Segment, Volatility
from kvaudit.core.doubt import Doubt
from kvaudit.core.findings import Finding, Severity
from kvaudit.core.rulebook import Rule
from kvaudit.core.sources import Source, Span

_PROSE = (".md", ".mdc", ".txt")
A_COLLECTION = 100
"""Prompts in files of plain text that are more than one program sends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What one file gave."""

    path: str
    findings: Sequence[Finding] = ()
    documents: int = 0
    directives: Sequence[Directive] = ()
    sends: bool = False
    """Whether a program is seen in it that sends a prompt to a model."""
    shown: frozenset[Doubt] = frozenset()
    """Links of proofs about keys that it shows."""
    filled: Mapping[tuple[str, int], Volatility] = field(default_factory=dict)
    """Holes of templates in other files that its prompts fill."""
    skipped: str | None = None
    """Why it could not be checked."""
    crash: str | None = None
    """What kvaudit itself did wrong with it."""


def look(
    source: Source,
    project: Project,
    rules: Sequence[Rule],
    profile: Profile,
    *,
    place: str | None = None,
    named: bool = False,
) -> Looked | None:
    """Lint one file; None where no reader takes it.

    ``place`` is its path within the project, which tells tests and examples from the rest. What
    the user has ``named`` is taken for a prompt if it is called like one, whatever it holds.
    """
    try:
        documents = documents_of(source, project, named=named)
    except Unreadable as reason:
        return Looked(path=source.path, skipped=str(reason))
    if documents is None:
        return None
    where = place if place is not None else source.path
    minor, tried = low_stakes(where), of_test(where)
    found: list[Finding] = []
    for document in documents:
        seen = replace(document, low_stakes=True, of_test=tried) if minor else document
        found += settled(seen, _proved(seen, lint_document(seen, rules, profile), rules, project))
    return Looked(
        path=source.path,
        findings=found,
        documents=sum(bool(d.segments or d.observations or d.markers) for d in documents),
        directives=directives_of(source),
        sends=sends(documents),
        shown=frozenset().union(*(document.shown for document in documents)),
        filled=most_often(document.filled for document in documents),
    )


def findings_of(looked: Sequence[Looked]) -> Iterable[Finding]:
    """Return all findings of a run, as grave as its files together prove."""
    senders = sum(seen.sends for seen in looked)
    shown = frozenset[Doubt]().union(*(seen.shown for seen in looked))
    found: Iterable[Finding] = chain.from_iterable(
        # Of its own file the reader of a key looked for a model's answer itself.
        where_none_is_shown(
            seen.findings, shown | {Doubt.NO_ANSWER} if senders > seen.sends else shown
        )
        for seen in looked
    )
    found = where_filled_once(found, most_often(seen.filled for seen in looked))
    if senders:
        return found
    return in_collection(found) if _is_collection(looked) else where_nothing_is_sent(found)


def _is_collection(looked: Sequence[Looked]) -> bool:
    """Whether a run sees a library or an archive of prompts, which itself sends none.

    The prompts of one program are some tens, and lie beside what fills them.
    """
    prose = sum(seen.documents for seen in looked if seen.path.lower().endswith(_PROSE))
    return prose >= A_COLLECTION and prose > 0.9 * sum(seen.documents for seen in looked)


def _proved(
    document: Document, findings: Sequence[Finding], rules: Sequence[Rule], project: Project
) -> list[Finding]:
    """Return the findings of a prompt, each as grave as its proof allows, or as the user wants."""
    insisted = {rule.name for rule in rules if rule.insisted}
    at: dict[tuple[str, Span], list[Segment]] = {}
    for segment in document.segments:
        at.setdefault((segment.source.path, segment.span), []).append(segment)

    def held_to(shown: Document) -> list[Finding]:
        return [
            f
            if f.rule in insisted
            else held(shown, f, at.get((f.source.path, f.span), ()), project.variables)
            for f in findings
        ]

    found = held_to(document)
    grave = any(f.severity is not Severity.INFO and f.rule not in insisted for f in found)
    if grave and document.builder and not project.mentions(document.source, document.builder):
        # Looked for last, and for few: it takes the code of the whole project.
        found = held_to(replace(document, sent=False))
    return found


def documents_of(
    source: Source, project: Project, *, named: bool = False
) -> Sequence[Document] | None:
    """Return the prompts in a file; None where no reader takes it. Raises `Unreadable`."""
    reader = reader_for(source) or (reader_by_name(source) if named else None)
    if reader is None:
        return None
    missing = reader.missing()
    if missing is not None:
        raise Unreadable(missing)
    try:
        found = list(reader.read(source, project))
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None
    for other in readers_beside(source, reader):
        try:
            found += other.read(source, project)
        except (Unreadable, RecursionError):
            # Its own reader took it: a template of YAML, say, that is none before it is filled.
            continue
    return found


def lint_document(document: Document, rules: Sequence[Rule], profile: Profile) -> list[Finding]:
    """Return what the rules find in one prompt, before findings of one place are joined."""
    return [
        with_fix(finding, rule)
        for rule in rules
        if document.kind in rule.inputs or "any" in rule.inputs
        for finding in find_check(rule).check(document, rule, profile)
    ]
