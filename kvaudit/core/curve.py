"""What a sweep found: the document of ``kvaudit sweep``.

The field names are those of ``--format json``; the JSON schema is generated from these classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from kvaudit.core.semantic import SemanticCurve
from kvaudit.core.summaries import Bounds, EngineSummary, LogSummary, Note


class Exactness(StrEnum):
    """How a figure of a curve was found; with ``Bounds`` beside it, it is one end of them."""

    EXACT = "exact"
    """By one pass over the log for all capacities, and equal to a replay at each."""
    BOUNDS = "bounds"
    """The log leaves open which tokens an answer was made of: two curves, and the truth between."""
    REPLAYED = "replayed"
    """By a replay at this capacity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """One capacity."""

    capacity_blocks: int | None
    """None is unbounded."""
    capacity_tokens: int | None
    capacity_bytes: int | None
    """None where no model was named."""
    hit_tokens: int
    hit_rate: float | None
    """hit_tokens / prompt_tokens; None where there are no prompt tokens."""
    block_hit_rate: float | None
    """Hit blocks / blocks of the prompts, a partial last block counted as one."""
    not_admitted: int
    """Requests that are larger than the cache."""
    exactness: Exactness
    bounds: Bounds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A capacity worth naming, and by which definition."""

    capacity_blocks: int
    capacity_tokens: int
    capacity_bytes: int | None
    hit_tokens: int
    hit_rate: float | None
    exactness: Exactness
    definition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPoint:
    """What one group of requests hits at one capacity."""

    capacity_blocks: int | None
    hit_tokens: int
    hit_rate: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCurve:
    """One group's own curve: its requests' hits in the cache that all share."""

    group: str
    requests: int
    prompt_tokens: int
    curve: Sequence[GroupPoint]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """The curve of another policy, of another block size at the same tokens of KV, or of replicas
    behind a router."""

    policy: str
    block_size: int
    instances: int
    """Replicas, each with the capacity of a point."""
    router: str | None
    hit_rate: float | None
    """Without a bound."""
    partial_block_tokens: int
    """Tokens seen before that are no hits even without a bound: they end inside a block, or
    stand in the block of the last token."""
    exactness: Exactness
    curve: Sequence[CurvePoint]


@dataclass(frozen=True, slots=True, kw_only=True)
class TierCurve:
    """What a tier adds below the engine's cache, at every capacity of that."""

    name: str
    capacity_blocks: int | None
    """Of the tier itself; None is unbounded."""
    capacity_bytes: int | None
    curve: Sequence[CurvePoint]
    """Hits of this tier and of all faster ones together; the capacity is the first tier's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """The result of ``kvaudit sweep``."""

    schema: int = 1
    log: LogSummary
    engine: EngineSummary | None
    requests: int
    """Counted requests, all but the warm-up."""
    prompt_tokens: int
    """Theirs."""
    curve: Sequence[CurvePoint] = ()
    exactness: Exactness | None = None
    """Of the curve as a whole: that of its least exact point."""
    method: str | None = None
    """How the curve was found, and what it therefore is."""
    optimal: Sequence[CurvePoint] = ()
    """The same capacities under eviction that knows the future, by the same rules for a hit."""
    possible_tokens: int | None = None
    """Tokens in the longest prefixes seen before, token by token and without a bound."""
    possible_hit_rate: float | None = None
    possible_bounds: Bounds | None = None
    largest_request_blocks: int | None = None
    distinct_blocks: int | None = None
    knee: Choice | None = None
    recommended: Choice | None = None
    block_sizes: Sequence[Variant] = ()
    policies: Sequence[Variant] = ()
    instances: Sequence[Variant] = ()
    tiers: Sequence[TierCurve] = ()
    grouped_by: str | None = None
    groups: Sequence[GroupCurve] = ()
    semantic: Sequence[SemanticCurve] = ()
    """Thresholds of semantic caches; nothing else is swept beside them."""
    definition: str | None = None
    notes: Sequence[Note] = field(default=())
