"""What the finders of marker faults share: the setting, the fault, and sizes worth a marker."""

from __future__ import annotations

from typing import NamedTuple

from kvaudit.analyzers.checks.order import size
from kvaudit.core.document import Document, Evidence, Marker, Position, Segment
from kvaudit.core.findings import Related, Severity
from kvaudit.core.sources import Source, Span
from kvaudit.cost.providers.facts import DEFAULT_MINIMUM, Minimum, Provider

BAND = 0.8
"""Sizes are estimates: nothing is said of a prefix within a fifth of the limit."""
PREFIX = (Position.TOOLS, Position.SYSTEM, Position.FEWSHOT)


class Seen(NamedTuple):
    """A fault, before it is graded."""

    source: Source
    span: Span
    detail: str
    evidence: Evidence = Evidence.DATAFLOW
    severity: Severity | None = None
    lost: int | None = None
    related: Related | None = None


class Setting(NamedTuple):
    """The provider and model a document is checked for."""

    provider: Provider | None
    model: str | None
    multi_turn: bool

    @property
    def minimum(self) -> Minimum | None:
        """The shortest prefix that is cached, where the model is known."""
        if self.provider is None or self.model is None:
            return None
        return self.provider.minimum_of(self.model)


def in_order(document: Document) -> list[Marker]:
    """Return the markers as they are rendered."""
    return sorted(document.markers, key=lambda marker: (marker.block, marker.span.start))


def worth_caching(segments: list[Segment], setting: Setting) -> bool:
    """Whether fixed text is long enough to be cached; text of unknown size is taken to be."""
    return sum(map(size, segments)) >= least_tokens(setting) or any(map(of_unknown_size, segments))


def least_tokens(setting: Setting) -> int:
    """Return the shortest prefix that is cached, or what it mostly is."""
    return setting.minimum.tokens if setting.minimum else DEFAULT_MINIMUM


def of_unknown_size(segment: Segment) -> bool:
    """Whether nothing is known of how long a segment is."""
    return segment.text is None and segment.tokens is None


def shown(segment: Segment) -> str:
    """Return a segment as a message quotes it."""
    text = " ".join((segment.expression or segment.text or "").split())
    return text if len(text) <= 50 else f"{text[:49]}…"
