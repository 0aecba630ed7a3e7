"""Which places in the project's files wrote the text that keeps requests apart.

Two ways lead to a place. The expression whose surroundings stand around the slot wrote it. Where
the slot is not the value of one expression (tools in another order, keys of JSON, a rewritten
history), it is a finding of the lint rule for the same cause, in a document whose own text stands
in the prompt.
Without fixed text that matches there is no place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from kvaudit.analyzers.location.anchors import Around, Fit, best, fits, plain, standing
from kvaudit.core.document import Document
from kvaudit.core.findings import Finding
from kvaudit.core.sources import Source, Span
from kvaudit.core.why import Cause, Location

MEASURED, AMBIGUOUS = "measured", "ambiguous"
MOST_PLACES = 5
"""More places that fit alike are no help to a reader."""
_LEAST_STANDING = 24
"""Letters of a document's text in a prompt that tell it from any other."""
_MOSTLY = 0.5
"""Share of a document's text that must stand there: branches may not be taken."""
_OF_A_VALUE = frozenset({
    Cause.SUB_DAY_CLOCK, Cause.CALENDAR_DATE, Cause.RANDOM_ID, Cause.COUNTER, Cause.IDENTITY,
    Cause.SESSION_VALUE, Cause.LIVE_STATE, Cause.USER_TEXT_FIRST, Cause.RETRIEVED_CONTEXT_FIRST,
    Cause.SHUFFLED_EXAMPLES, Cause.WHITESPACE_DRIFT, Cause.UNCLASSIFIED,
})  # fmt: skip
"""Causes whose text is one expression's."""


@dataclass(frozen=True, slots=True)
class Parted:
    """Where two requests of a group part: the text of the later one, and the slot in it."""

    cause: Cause
    text: str
    start: int
    end: int
    prompt: str
    """All of the later request's text."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place, and what stands there."""

    source: Source
    span: Span
    fit: Fit | None
    """None where a rule led there."""
    rule: str | None = None
    """Which one."""


Findings = Callable[[Document, Cause], Iterable[Finding]]
"""What the lint rule of a cause finds in a document."""


def places(parted: Parted, documents: Sequence[Document], findings: Findings) -> list[Place]:
    """Return the places that fit best; several fit alike."""
    if parted.cause in _OF_A_VALUE:
        around = Around.of(parted.text, parted.start, parted.end)
        found = best([fit for document in documents for fit in fits(document, around)])
        if found:
            return [Place(fit.source, fit.span, fit) for fit in found]
    return _by_rule(parted, documents, findings)


def _by_rule(parted: Parted, documents: Sequence[Document], findings: Findings) -> list[Place]:
    """Return what the cause's rule finds in the document of which most stands in the prompt."""
    text = plain(parted.prompt)
    most, found = 0, dict[tuple[str, Span], Place]()
    for document in documents:
        here, total = standing(document, text)
        if here < max(_LEAST_STANDING, _MOSTLY * total, most):
            continue
        at = {
            (f.source.path, f.span): Place(f.source, f.span, None, f.rule)
            for f in findings(document, parted.cause)
        }
        if at and here > most:
            most, found = here, {}
        if at:
            found |= at
    return [found[place] for place in sorted(found)]


def locations(found: Sequence[Place], rule: str | None) -> Iterator[Location]:
    """Yield what is reported of places that fit alike, and where their values come from."""
    evidence = MEASURED if len(found) == 1 else AMBIGUOUS
    for place in found[:MOST_PLACES]:
        segment = None if place.fit is None else place.fit.segment
        yield _location(
            place.source,
            place.span,
            evidence=evidence,
            rule=place.rule or rule,
            expression=None if segment is None else segment.expression,
            by="rule" if place.fit is None else "text",
        )
        if segment is not None and _line(segment.source, segment.span) != _line(
            place.source, place.span
        ):
            yield _location(
                segment.source,
                segment.span,
                evidence=segment.evidence.value,
                rule=rule,
                expression=segment.expression,
                by="value",
            )


def _line(source: Source, span: Span) -> tuple[str, int]:
    return source.path, source.place(span.start).line


def _location(
    source: Source, span: Span, *, evidence: str, rule: str | None, expression: str | None, by: str
) -> Location:
    start, end = source.place(span.start), source.place(span.end)
    return Location(
        path=source.path,
        line=start.line,
        column=start.column,
        end_line=end.line,
        end_column=end.column,
        evidence=evidence,
        rule=rule,
        expression=expression,
        by=by,
    )
