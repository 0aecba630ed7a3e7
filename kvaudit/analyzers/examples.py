"""A rule's examples, run: what ``kvaudit rule --check`` and the test of all rules do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kvaudit.analyzers.checks.order import with_loss
from kvaudit.analyzers.fixing import applied
from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.reader import Unreadable
from kvaudit.analyzers.run import documents_of, lint_document, look
from kvaudit.analyzers.settle import Terms, settle
from kvaudit.core.document import Document, Origin
from kvaudit.core.findings import Finding
from kvaudit.core.rulebook import Example, Rule
from kvaudit.core.sources import Source, Span

FILE_OF = {"python": "prompt.py", "typescript": "prompt.ts", "javascript": "prompt.js"}
"""File names for fences whose first word is no suffix of its own."""

OF_COMMENTS = "suppression"
"""The check whose rules need the others: they speak of comments against them."""


class OneFile:
    """A project of one file."""

    variables: Mapping[str, Origin] = {}

    def sibling(self, source: Source, name: str) -> Source | None:
        """Return nothing: there is no other file."""
        return None

    def folder(self, source: Source, name: str, ending: str) -> Sequence[Source]:
        """Return nothing: there is no other file."""
        return ()

    def module(self, source: Source, dotted: str) -> Source | None:
        """Return nothing: there is no other file."""
        return None

    def mentions(self, source: Source, name: str, *, elsewhere: bool = False) -> bool:
        """Return that somebody may, unless in other files: an example shows none."""
        return not elsewhere


def source_of(example: Example) -> Source:
    """Return the file that an example stands for."""
    named = FILE_OF.get(example.language, f"prompt.{example.language}")
    return Source(example.file or named, example.text)


def documents_in(example: Example) -> Sequence[Document]:
    """Return the prompts of an example. Raises `Unreadable`."""
    source = source_of(example)
    documents = documents_of(source, OneFile())
    if documents is None:
        raise Unreadable(f"no reader takes {source.path}")
    return documents


def found_in(rule: Rule, example: Example, rules: Sequence[Rule]) -> list[Finding]:
    """Return what a rule finds in an example. Raises `Unreadable`."""
    if rule.check == OF_COMMENTS:
        looked = look(source_of(example), OneFile(), rules, Profile())
        known = [word for other in rules for word in (other.name, other.code)]
        terms = Terms(rules=rules, known=known, reasons=True)
        result = settle([looked] if looked else [], terms)
        return [finding for finding in result.findings if finding.rule == rule.name]
    return [
        finding
        for document in documents_in(example)
        for finding in lint_document(document, [rule], Profile())
    ]


def faults(rule: Rule, rules: Sequence[Rule]) -> Iterator[str]:
    """Yield what is wrong with a rule's examples, as sentences that begin with the place."""
    if {example.good for example in rule.examples} != {True, False}:
        yield f"{rule.path}: a rule has a bad example and a good one"
    for example in rule.examples:
        place = f"{rule.path}:{example.line}"
        if bool(example.spans) == example.good:
            yield f"{place}: marks stand in a bad example, and only there"
        try:
            found = found_in(rule, example, rules)
        except Unreadable as reason:
            yield f"{place}: cannot be checked: {reason}"
            continue
        yield from _differences(place, example, sorted({finding.span for finding in found}))
        if example.fixed is not None and applied(example.text, found) != example.fixed:
            yield f"{place}: the fix gives {applied(example.text, found)!r}"


def _differences(place: str, example: Example, spans: Sequence[Span]) -> Iterator[str]:
    for span in example.spans:
        if span not in spans:
            yield (
                f"{place}: not found: {example.text[span.start : span.end]!r}, "
                f"{_taken_for(example, span)}"
            )
    for span in spans:
        if span not in example.spans:
            yield f"{place}: found, and not marked: {example.text[span.start : span.end]!r}"


def _taken_for(example: Example, span: Span) -> str:
    """Say what a reader takes a marked text for, which is what a rule's parameters decide on."""
    documents = documents_in(example)
    for document in documents:
        for segment, behind in with_loss(document.segments):
            if segment.span == span and segment.expression is not None:
                return (
                    f"a value taken for {segment.origin.value}, in the "
                    f"{segment.position.name.lower()} text, with about {behind.tokens} fixed "
                    "tokens behind it"
                )
    if not documents:
        return "in a file with no prompt"
    return "a text that is no value of the prompt; marks stand around the whole expression"
