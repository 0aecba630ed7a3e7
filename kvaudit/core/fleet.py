"""The part of a report that is about several replicas behind a router.

Field names are those of ``--format json``. Sums are over the counted requests.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceSummary:
    """One replica's share of the traffic, and what it made of it."""

    instance: str
    requests: int
    prompt_tokens: int
    hit_tokens: int
    """Pool and broadcast hits included."""
    computed_tokens: int
    hit_rate: float | None
    evicted_blocks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """The busiest replica's share over the mean of all: 1 is even; None where nothing was done."""

    requests: float | None
    prompt_tokens: float | None
    computed_tokens: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OneCache:
    """What a single replica with the memory of all of them would have hit."""

    capacity_blocks: int | None
    """None is unbounded."""
    hit_tokens: int
    hit_rate: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSummary:
    """One event that made all KV so far invalid."""

    reason: str
    reached: int
    """Replicas that dropped what they held."""
    before_request: int | None
    """Number of the first request after it, counted from 1; None if it never came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidationSummary:
    """What followed from the events."""

    events: Sequence[EventSummary]
    lost_tokens: int
    """Computed again because what was held is not valid any more."""
    stale_hit_tokens: int
    """Hit tokens on KV from before an event, on replicas that it did not reach."""
    stale_requests: int
    inconsistent_hit_tokens: int
    """Hit tokens on KV that was computed later, on top of such a prefix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSummary:
    """The replicas, how requests reached them, and what parting the cache cost."""

    instances: int
    router: str
    rule: str
    """How the router chooses, as a clause."""
    source: str | None
    """Where the rule was read; None for one that has no single author."""
    in_flight: str
    """By what a request was taken to be in flight."""
    sharing: str
    """``none``, ``pool`` or ``broadcast``."""
    sharing_rule: str
    local_hit_tokens: int
    """Hits on what the replica that served the request held itself."""
    shared_hit_tokens: int
    """Hits on KV that came from the pool or by broadcast."""
    other_replica_tokens: int
    """Computed, though another replica held them at that moment."""
    moved_tokens: int
    """Tokens whose KV went from one replica to another."""
    moved_bytes: int | None
    """None without --model."""
    pinned_tokens: int
    """Tokens that a broadcast keeps on every replica, beside its capacity, at the end."""
    pinned_bytes: int | None
    balance: Balance
    one_cache: OneCache | None
    invalidation: InvalidationSummary | None
    """None without --invalidate."""
    per_instance: Sequence[InstanceSummary]
