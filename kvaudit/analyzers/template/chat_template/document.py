"""One chat template as a document: clocks by reading, everything else by rendering."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from kvaudit.analyzers.probe.chat import Break, NotProbed, probe
from kvaudit.analyzers.reader import Project, Unreadable
from kvaudit.analyzers.template.jinja.render import rendered
from kvaudit.analyzers.template.jinja.scan import Kind, ScanError, Token, scan
from kvaudit.analyzers.template.pieces import Piece
from kvaudit.analyzers.template.values import UNKNOWN
from kvaudit.core.document import Document, Evidence, Observation, Position, Segment
from kvaudit.core.sources import Source, Span

_TOOLS = re.compile(r"\b(?:tools?|functions?)\b")
_LINE_BREAK = re.compile(r"\r?\n[ \t]*")
_INDENTED = re.compile(r"\s*\n[ \t]{2,}|[ \t]{2,}")


def document_of(source: Source, project: Project, named_tokens: Mapping[str, str]) -> Document:
    """Return what a chat template shows; raises `Unreadable` where it cannot be rendered."""
    try:
        tokens = scan(source.text)
    except ScanError as error:
        line = source.place(error.offset).line
        raise Unreadable(f"no Jinja template: line {line}: {error}") from None
    try:
        breaks = probe(source.text, named_tokens)
        if breaks and is_indented(source.text, tokens):
            breaks = _in_any_convention(source.text, named_tokens, breaks)
    except NotProbed as reason:
        raise Unreadable(f"the chat template cannot be rendered: {reason}") from None
    return Document(
        source=source,
        kind="chat-template",
        name="default",
        segments=list(_segments(source, project)),
        observations=[_observed(source, tokens, seen) for seen in breaks],
    )


def _in_any_convention(
    text: str, named_tokens: Mapping[str, str], breaks: Sequence[Break]
) -> list[Break]:
    """Return the breaks that do not hang on white space.

    Some repositories write templates over several lines for a loader that takes line breaks and
    indentation out. What only the rules of Transformers break says nothing about those.
    """
    kinds = {seen.kind for seen in probe(_LINE_BREAK.sub("", text), named_tokens)}
    kept = [seen for seen in breaks if seen.kind in kinds]
    if not kept:
        raise Unreadable(
            "it is indented for a loader that takes line breaks and blanks out, not for "
            "Transformers' own white-space rules; rendering it would say nothing"
        )
    return kept


def is_indented(text: str, tokens: Sequence[Token]) -> bool:
    """Whether most expressions that stand on lines of their own would print their indentation."""
    own_line = printing = 0
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.kind is not Kind.OUTPUT or before is None or before.kind is not Kind.TEXT:
            continue
        if _INDENTED.fullmatch(text, *before.span) is None:
            continue
        own_line += 1
        printing += before.inner.end > before.inner.start
    return printing * 2 > own_line


def _segments(source: Source, project: Project) -> Iterator[Segment]:
    """Yield the text and what the template itself reads; names say nothing here."""
    for piece in rendered(source, project):
        if not isinstance(piece, Piece):
            continue
        certain = piece.expression is None or piece.value.evidence is not Evidence.NAME
        value = piece.value if certain else UNKNOWN
        of_tools = piece.expression is not None and _TOOLS.search(piece.expression)
        yield Segment(
            source=piece.source,
            span=piece.span,
            position=Position.TOOLS if of_tools else Position.SYSTEM,
            text=piece.text,
            expression=piece.expression,
            origin=value.origin,
            volatility=value.volatility,
            evidence=value.evidence,
            tokens=0 if piece.other_arm else None,
            trail=value.trail,
        )


def _observed(source: Source, tokens: Sequence[Token], seen: Break) -> Observation:
    token = next((t for t in tokens if t.span.start <= seen.offset < t.span.end), tokens[-1])
    span = token.inner if token.kind is Kind.TEXT else token.span
    return Observation(
        kind=seen.kind,
        source=source,
        span=span if span.end > span.start else Span(*token.span),
        detail=seen.detail,
        position=Position.TOOLS if seen.kind == "tools-follow-last-user" else Position.HISTORY,
        graver=seen.graver,
    )
