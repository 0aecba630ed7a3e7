"""Collects the pieces of one prompt in rendered order, and makes the document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kvaudit.analyzers.sizes import estimate_tokens
from kvaudit.analyzers.template.messages.oddities import Oddity, oddities
from kvaudit.analyzers.template.structure.holes import MUSTACHE, Piece, pieces, value_of
from kvaudit.analyzers.template.structure.node import Kind, Node, inner_span
from kvaudit.core.document import (
    VOLATILITY_OF,
    Document,
    Evidence,
    Marker,
    Observation,
    Origin,
    Position,
    Segment,
    Volatility,
)
from kvaudit.core.sources import Source, Span

NO_HOLES = re.compile(r"(?!)")
"""The syntax of recorded text: braces in it are only braces."""
MAX_SEGMENTS = 20_000
"""A longer conversation is a log; the rest of it says nothing new about its beginning."""


@dataclass(slots=True)
class PromptBuilder:
    """What is known so far of one prompt."""

    source: Source
    kind: str
    said: Mapping[str, Origin]
    syntax: re.Pattern[str] = MUSTACHE
    segments: list[Segment] = field(default_factory=list)
    markers: list[Marker] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    changed: dict[int, list[Oddity]] = field(default_factory=dict)
    """What is known to differ from an earlier request, by where its string begins."""
    block: int = -1
    """Number of the block that texts are being added to; the first one is 0."""

    def next_block(self) -> None:
        """Begin the next message or content block."""
        self.block += 1

    def add(
        self, node: Node, position: Position, *, changes: Volatility = Volatility.CONSTANT
    ) -> None:
        """Add a string; ``changes`` says how often its fixed parts do."""
        text = node.text
        if node.kind is Kind.HOLE:
            self._expression(node.span, str(node.value), position)
        elif text:
            for piece in pieces(text, self.syntax):
                self._piece(node, text, piece, position, changes)

    def add_raw(
        self, node: Node, position: Position, *, changes: Volatility = Volatility.CONSTANT
    ) -> None:
        """Add a value as it is written: a tool, a call, arguments."""
        raw = self.source.text[node.span.start : node.span.end]
        self.add(Node(Kind.TEXT, node.span, raw), position, changes=changes)

    def mark(self, span: Span, ttl: str | None) -> None:
        """Set a cache marker on the block that was begun last."""
        self.markers.append(
            Marker(source=self.source, span=span, block=max(self.block, 0), ttl=ttl)
        )

    def observe(
        self,
        kind: str,
        span: Span,
        detail: str,
        *,
        evidence: Evidence = Evidence.DATAFLOW,
        position: Position = Position.SYSTEM,
    ) -> None:
        """Note something that is no text."""
        self.observations.append(
            Observation(
                kind=kind,
                source=self.source,
                span=span,
                detail=detail,
                evidence=evidence,
                position=position,
            )
        )

    def document(
        self, name: str, *, provider: str | None, model: str | None, multi_turn: bool
    ) -> Document | None:
        """Return the prompt; None where nothing was found in it."""
        if not self.segments and not self.observations:
            return None
        return Document(
            source=self.source,
            kind=self.kind,
            name=name,
            segments=self.segments,
            observations=self.observations,
            markers=self.markers,
            provider=provider,
            model=model,
            multi_turn=multi_turn,
        )

    def _piece(
        self, node: Node, text: str, piece: Piece, position: Position, changes: Volatility
    ) -> None:
        if piece.expression is not None:
            span = inner_span(self.source.text, node, piece.start, piece.end)
            self._expression(span, piece.expression, position)
            return
        for part in self._parts(node, text, piece, position):
            if part.origin is None and not text[part.start : part.end]:
                continue
            if len(self.segments) >= MAX_SEGMENTS:
                return
            written = text[part.start : part.end]
            fixed = part.origin is None
            self.segments.append(
                Segment(
                    source=self.source,
                    span=inner_span(self.source.text, node, part.start, part.end),
                    position=position,
                    text=written if fixed else None,
                    expression=None if fixed else written,
                    tokens=None if fixed else estimate_tokens(written),
                    origin=part.origin or Origin.CONSTANT,
                    volatility=changes if part.origin is None else VOLATILITY_OF[part.origin],
                    evidence=part.evidence,
                    block=max(self.block, 0),
                )
            )

    def _parts(self, node: Node, text: str, piece: Piece, position: Position) -> Iterator[Oddity]:
        """Cut fixed text at what is not fixed: what changed, and what cannot be the same again."""
        at = piece.start
        first = not self.segments
        if self.syntax is NO_HOLES:  # of a log it is seen what changes
            found: Iterable[Oddity] = sorted(self.changed.get(node.span.start, ()))
        else:
            found = oddities(text, piece.start, piece.end, position, first=first)
        for odd in found:
            if odd.start < at:
                continue
            yield Oddity(at, odd.start)
            yield odd
            at = odd.end
        yield Oddity(at, piece.end)

    def _expression(self, span: Span, expression: str, position: Position) -> None:
        value = value_of(expression, self.said)
        self.segments.append(
            Segment(
                source=self.source,
                span=span,
                position=position,
                expression=expression,
                origin=value.origin,
                volatility=value.volatility,
                evidence=value.evidence,
                block=max(self.block, 0),
            )
        )
