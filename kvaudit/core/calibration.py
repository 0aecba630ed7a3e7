"""What `kvaudit calibrate` found: the documents its reports are made from.

Field names are those of ``kvaudit calibrate --format json``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCounts:
    """Pairs of texts, and which of them a policy serves from one another."""

    same: int
    """Pairs of which one answer serves both."""
    served: int
    """Of these, served."""
    traps: int
    """The other pairs."""
    wrong: int
    """Of these, served."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsReport:
    """A policy tried on labelled pairs."""

    schema: int = 1
    same: int
    served: int
    traps: int
    wrong: int
    wrong_rate: float | None
    """wrong / traps; what --max-wrong limits."""
    by_kind: Mapping[str, PairCounts]
    by_language: Mapping[str, PairCounts]
    wrong_ids: Sequence[str]
    refused_ids: Sequence[str]
    """Same-answer pairs that are not served."""
    policy: str
    max_wrong: float | None
    passed: bool
    notes: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """What one threshold would serve, where every request becomes an entry."""

    threshold: float
    """As a cosine similarity."""
    hits: int
    labelled: int
    false_hits: int
    p_value: float | None
    """Chance of so few false hits if their rate were the limit; None before the first test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationReport:
    """The loosest threshold that a log's labels prove to keep a limit, or that none is."""

    schema: int = 1
    threshold: float | None
    """As a cosine similarity; None where the labels support no threshold."""
    threshold_in_scale: float | None
    """The same on the policy's own scale."""
    scale: str
    max_false_hit_rate: float
    delta: float
    """Chance that the true rate of the threshold exceeds the limit all the same."""
    requests: int
    hits: int
    labelled: int
    false_hits: int
    """Of the labelled pairs at the threshold; 0 where there is none."""
    hit_rate: float | None
    curve: Sequence[CurvePoint]
    verdict: str
    guarantee: str
    policy: str
    notes: Sequence[str]
