"""What `kvaudit doctor` read in the metrics of running engines: the document of its reports.

The field names are those of ``--format json``; the JSON schema is generated from these classes.
Every figure is what the engine itself counted; nothing is simulated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from kvaudit.core.findings import Severity


class Basis(StrEnum):
    """What a rate of an engine is."""

    COUNTED = "counted"
    """Two counters, so it is of a known span of time and weighted as its definition says."""
    GAUGE = "gauge"
    """The engine's own figure, of a span that the engine chooses."""
    PREDICTED = "predicted"
    """What a router expected, not what an engine did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRate:
    """One rate that the metrics give."""

    name: str
    hit_rate: float | None
    """None where nothing was counted."""
    hits: float | None
    """None for a gauge."""
    total: float | None
    unit: str
    """``tokens``, ``blocks``, ``requests`` or ``share``."""
    basis: Basis
    definition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Another figure of the newest sample; a counter is what it grew by over the samples."""

    name: str
    value: float | str
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """KV in use, over the samples."""

    name: str
    unit: str
    holds: str
    """``requests``: what running requests hold; ``all``: cached KV that nobody uses too."""
    series: Sequence[tuple[int, float, float | None]]
    """Sample, KV in use, requests running or waiting (None where the engine does not say)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFinding:
    """Something that looks wrong."""

    check: str
    severity: Severity
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineReading:
    """What one engine's metrics say."""

    engine: str
    title: str
    names_from: str
    """Whose metric names these are; other releases may have others."""
    hit_rate: float | None
    """The first of ``rates`` that has one and was counted."""
    rates: Sequence[MeasuredRate]
    figures: Sequence[Figure]
    occupancy: Sequence[Occupancy]
    missing: Sequence[str]
    findings: Sequence[MetricFinding]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsReport:
    """The result of ``kvaudit doctor`` on metrics."""

    schema: int = 1
    sources: Sequence[str]
    samples: int
    window: str
    """Of which span of time the counters are."""
    series: int
    """Time series in the newest sample."""
    unread_lines: int
    """Lines that are neither comments nor metrics."""
    engines: Sequence[EngineReading]
    notes: Sequence[str]
