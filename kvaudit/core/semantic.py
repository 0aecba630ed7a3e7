"""The part of a report that is about a semantic cache in front of the model.

Field names are those of ``--format json``. Sums are over the counted requests.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFlops:
    """Work that the hits save; None where no model was named."""

    prefill: int | None
    """Prefill FLOPs of the log with the prefix cache alone, less those with both layers."""
    decode: int | None
    """FLOPs of generating the answers that were served instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerFlops:
    """Prefill FLOPs that are left to do, by which caches there are."""

    no_cache: int
    prefix_alone: int
    semantic_alone: int
    together: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixLayer:
    """A prefix cache with and without a semantic cache in front of it."""

    hit_tokens_alone: int
    hit_rate_alone: float | None
    """Where every request reaches it."""
    hit_tokens_behind: int
    hit_rate_behind: float | None
    """Where it sees the misses only."""
    hit_tokens_taken: int
    """hit_tokens_alone - hit_tokens_behind: what it would have hit without the semantic cache."""
    prefill_flops: LayerFlops | None
    """None where no model was named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerProxy:
    """How far logged answers can stand for labels, measured on the log itself."""

    rho: float | None
    """Likeness from which on two answers say the same; None where too few questions repeat."""
    repeats: int
    """Pairs of answers to the same text under the same parameters."""
    alarm_rate: float | None
    """Share of the repeats whose answers it takes for different: 1 - specificity."""
    random_pairs: int
    """Pairs of requests with different texts."""
    sensitivity: float | None
    """Share of the random pairs whose answers it takes for different."""
    judged: int
    hits: int
    """Hits, exact ones too, of which both answers are logged; ``judged`` of them at random."""

    def supports(self, limit: float) -> bool:
        """Return whether a rate of at most ``limit`` could be told from the proxy's own alarms."""
        return self.alarm_rate is not None and self.alarm_rate <= limit


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingPlan:
    """What the policy's verification sample can prove."""

    rate: float
    limit: float
    alpha: float
    expected_labels: int
    """Of as many hits as this log's."""
    needed_labels: int
    """Without a wrong one among them; each that is wrong needs more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedPair:
    """A request and the earlier one whose answer it was given."""

    request: str
    donor: str
    similarity: float
    tenant: str | None
    donor_tenant: str | None
    differs: Sequence[str] | None
    """What the entity rule sees of a difference: number, date, negation; None where not asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticPolicySummary:
    """The policy that was replayed."""

    encoder: str
    """Name and version."""
    threshold: float
    """As the policy writes it, in ``scale``."""
    scale: str
    cosine: float
    """The same as a cosine similarity."""
    cosines: Mapping[str, float]
    """By scenario, where the policy has a threshold of its own for it."""
    namespace: Sequence[str]
    key: Sequence[str]
    insert: str
    exact_tier: bool
    entity_check: bool
    ttl_s: float | None
    sliding: bool
    capacity: int | None
    eviction: str
    per_entry_delta: float | None = None
    """Share of requests that may be wrong, where each entry learns a threshold of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticSummary:
    """What a semantic cache under a policy would have served on this log."""

    lookups: int
    """Requests that were looked up; those that the policy keeps out are in ``bypassed``."""
    bypassed: int
    exact_hits: int
    """Served by the exact tier, which no threshold is asked; 0 where the policy has none."""
    hits: int
    """Semantic hits."""
    hit_rate: float | None
    """hits / lookups."""
    repeated_hits: int
    """Semantic hits whose text is the donor's, but for white space: any exact cache has these."""
    vetoed: int
    """Lookups that found an entry above the threshold, and missed since a guard refused all."""
    donors: int
    """Different entries that semantic hits were served from."""
    labelled: int
    """Semantic hits of which it is known, by ``basis``, whether the answer was right."""
    false_hits: int | None
    false_hit_rate: float | None
    """false_hits / labelled; None where the log says nothing about answers."""
    false_hit_rate_upper95: float | None
    """Clopper-Pearson one-sided upper bound, or the exact finite one; from labels only."""
    population: str
    """Whom the bound speaks of: ``log``, or ``future`` traffic like it."""
    errors_per_request: float | None
    """false_hits / lookups, where every hit has a verdict."""
    basis: str
    """Where the verdicts come from: ``labels``, ``logged answers`` or ``rule``."""
    suspected_false_hits: int
    """Of ``compared_hits``, those whose texts differ by the entity rule."""
    compared_hits: int
    """Semantic hits whose texts the entity rule compared: all, or some drawn at random."""
    stale_hits: int | None
    """Semantic hits with an answer older than ``stale_after`` of its scenario; None without any."""
    proxy: AnswerProxy | None
    """Of logged answers, where these are the basis."""
    sampling: SamplingPlan | None
    """None where the policy has no sampling."""
    design_effect: float | None
    """How much false hits cluster on their donors, as a factor on the variance; 1 is not at all."""
    false_by_cause: Mapping[str, int]
    """False hits by what differs: what the entity rule sees, ``tenant``, ``parameters``, or
    ``stale``, where nothing does but the time; one hit may be in several."""
    false_examples: Sequence[ServedPair]
    cross_tenant_hits: int
    cross_tenant: Sequence[ServedPair]
    """Every hit, exact ones too, that was served from another tenant's entry."""
    saved_flops: SavedFlops
    prefix_layer: PrefixLayer | None
    """None where no prefix cache was replayed beside it."""
    policy: SemanticPolicySummary
    definition: str
    basis_definition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdPoint:
    """One threshold of a sweep; the figures are those of a replay at it."""

    threshold: float
    """On the policy's scale."""
    cosine: float
    lookups: int
    exact_hits: int
    hits: int
    hit_rate: float | None
    labelled: int
    false_hits: int | None
    false_hit_rate: float | None
    false_hit_rate_upper95: float | None
    population: str
    errors_per_request: float | None
    method: str
    """``graph``: replayed on near texts that were found once; ``replayed``: with its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticCurve:
    """A semantic cache at many thresholds."""

    name: str
    """The policy's file."""
    policy: SemanticPolicySummary
    basis: str
    points: Sequence[ThresholdPoint]
    graph_floor: float | None
    """Cosine from which on the graph holds every pair of texts."""
    graph_pairs: int | None
    definition: str
    basis_definition: str
