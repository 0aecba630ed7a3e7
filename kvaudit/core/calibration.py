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
    hit_ratio: float | None
    """hits / requests."""
    precision: float | None
    """1 - false hits / labelled hits."""
    p_value: float | None
    """Chance of so few false hits if their rate were the limit; None before the first test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """A threshold replayed as the cache runs, where only misses become entries."""

    fresh: bool
    """Whether the requests are ones that had no say in choosing it."""
    requests: int
    hits: int
    labelled: int
    false_hits: int
    donors: int
    """Entries that served the labelled hits."""
    upper: float | None
    """Clopper-Pearson, hits taken as independent; of requests that had a say it proves nothing."""
    upper_by_donor: float | None
    """The same as if all hits of a donor were right or wrong together."""


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
    precision_area: float | None
    """Under precision over hit ratio, from no hit to the loosest threshold's."""
    again: Again | None
    """The chosen threshold once more, as the cache would run; None where none was chosen."""
    verdict: str
    guarantee: str
    policy: str
    notes: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelReport:
    """What a labelling sheet shows of the hits that its main sample was drawn from."""

    schema: int = 1
    population: int
    """Hits."""
    sample: int
    """Of these, in the main sample."""
    labelled: int
    """Of these, labelled without a gap from the first on; what all figures are of."""
    wrong: int
    depends: int
    false_hit_rate: float | None
    """wrong / labelled."""
    upper: float | None
    """Clopper-Pearson or hypergeometric, for a sample labelled to its end; None before."""
    lower: float | None
    upper_by_donor: float | None
    """For traffic to come: as if all hits of a donor were right or wrong together."""
    donors: int
    anytime_upper: float
    """Holds whenever one stops labelling."""
    proven_after: int | None
    """Labels after which the rate was proven to be under the limit, at any time of looking."""
    over_after: int | None
    limit: float
    alpha: float
    verdict: str
    """pass, fail or undecided; wrong with a chance of at most alpha."""
    labels_still_needed: int | None
    """If none of them is wrong; None where there is a verdict, or no number is enough."""
    behind_a_gap: int
    """Labelled out of turn; not counted."""
    extra_labelled: int
    """Of the sample that went where faults are likely; counted apart, as it must be."""
    extra_wrong: int
    agreement: tuple[int, int] | None
    """Rows on which two people agree, of those that both labelled."""
    faults: Sequence[tuple[str, str, str, str]]
    """Donor, request, and the two questions of every wrong hit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorReport:
    """Labels of production in the order they came in, against a limit."""

    schema: int = 1
    labelled: int
    wrong: int
    left_out: int
    """Labelled depends."""
    false_hit_rate: float | None
    """wrong / labelled."""
    anytime_upper: float
    proven_after: int | None
    """Labels after which the rate was proven to be under the limit."""
    over_after: int | None
    """Labels after which it was proven to be over the limit."""
    limit: float
    alpha: float
    """Of each direction."""
    verdict: str
    """pass, fail or undecided."""
