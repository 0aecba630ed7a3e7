"""The sums of a fleet's ledger."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.fleet import (
    Balance,
    EventSummary,
    FleetSummary,
    InstanceSummary,
    InvalidationSummary,
    OneCache,
)
from kvaudit.replay.fleet.cache import FleetCache
from kvaudit.replay.fleet.plan import HashSeeds
from kvaudit.replay.fleet.router import find_router
from kvaudit.replay.fleet.sharing import SEEDS_DIFFER


def fleet_summary(
    fleet: FleetCache,
    *,
    prompt_tokens: NDArray[np.int64],
    unbounded_hits: NDArray[np.int64],
    counted: slice,
    kv_bytes_per_token: int | None,
) -> FleetSummary:
    """Sum up; ``unbounded_hits`` are those of one cache without a bound, a request each."""
    ledger, plan = fleet.ledger, fleet.plan
    kind = find_router(plan.router)
    prompts = prompt_tokens[counted]
    local, shared = ledger.local_hits.values()[counted], ledger.shared_hits.values()[counted]
    per_instance = _per_instance(fleet, prompts, local + shared, counted)
    moved = int(ledger.moved.values()[counted].sum())
    seeds = SEEDS_DIFFER if plan.hash_seeds is HashSeeds.DIFFER else ""
    return FleetSummary(
        instances=len(per_instance),
        router=plan.router,
        rule=kind.rule,
        source=kind.source,
        in_flight=fleet.dispatcher.in_flight(),
        sharing=fleet.sharing,
        sharing_rule=fleet.sharing_rule + seeds,
        local_hit_tokens=int(local.sum()),
        shared_hit_tokens=int(shared.sum()),
        other_replica_tokens=int(ledger.elsewhere.values()[counted].sum()),
        moved_tokens=moved,
        moved_bytes=None if kv_bytes_per_token is None else moved * kv_bytes_per_token,
        pinned_tokens=fleet.pinned_tokens,
        pinned_bytes=(
            None if kv_bytes_per_token is None else fleet.pinned_tokens * kv_bytes_per_token
        ),
        balance=Balance(
            requests=_spread([i.requests for i in per_instance]),
            prompt_tokens=_spread([i.prompt_tokens for i in per_instance]),
            computed_tokens=_spread([i.computed_tokens for i in per_instance]),
        ),
        invalidation=_invalidation(fleet, unbounded_hits, counted),
        one_cache=_one_cache(fleet, int(prompts.sum()), unbounded_hits, counted),
        per_instance=per_instance,
    )


def _invalidation(
    fleet: FleetCache, unbounded_hits: NDArray[np.int64], counted: slice
) -> InvalidationSummary | None:
    if fleet.staleness is None:
        return None
    ledger, replicas = fleet.ledger, fleet.dispatcher.replicas
    hits = ledger.local_hits.values() + ledger.shared_hits.values()
    # What some replica holds is not lost to an event, though it may be stale.
    valid = np.maximum(ledger.valid_hits.values(), hits + ledger.elsewhere.values())
    stale = fleet.staleness.stale.values()[counted]
    came = [(event, request) for event, request in fleet.events.fired]
    never = [(event, None) for event in fleet.events.missed]
    return InvalidationSummary(
        events=[
            EventSummary(
                reason=event.reason,
                reached=replicas if event.reach is None else min(event.reach, replicas),
                before_request=request,
            )
            for event, request in [*came, *never]
        ],
        lost_tokens=int(np.maximum(unbounded_hits - valid, 0)[counted].sum()),
        stale_hit_tokens=int(stale.sum()),
        stale_requests=int((stale > 0).sum()),
        inconsistent_hit_tokens=int(fleet.staleness.inconsistent.values()[counted].sum()),
    )


def _per_instance(
    fleet: FleetCache, prompts: NDArray[np.int64], hits: NDArray[np.int64], counted: slice
) -> list[InstanceSummary]:
    replicas = fleet.ledger.replicas.values()[counted]
    evicted = fleet.ledger.evicted_blocks.values()[counted]
    summaries = []
    for n in range(fleet.dispatcher.replicas):
        own = replicas == n
        total, hit = int(prompts[own].sum()), int(hits[own].sum())
        summaries.append(
            InstanceSummary(
                instance=fleet.dispatcher.router.name(n),
                requests=int(own.sum()),
                prompt_tokens=total,
                hit_tokens=hit,
                computed_tokens=total - hit,
                hit_rate=hit / total if total else None,
                evicted_blocks=int(evicted[own].sum()),
            )
        )
    return summaries


def _one_cache(
    fleet: FleetCache, prompt_tokens: int, unbounded_hits: NDArray[np.int64], counted: slice
) -> OneCache | None:
    if fleet.bounded and fleet.one_capacity is None:
        return None  # of unknown size, as the log was still naming replicas
    hits = fleet.ledger.one_cache_hits.values() if fleet.bounded else unbounded_hits
    hit = int(hits[counted].sum())
    return OneCache(
        capacity_blocks=fleet.one_capacity,
        hit_tokens=hit,
        hit_rate=hit / prompt_tokens if prompt_tokens else None,
    )


def _spread(counts: list[int]) -> float | None:
    return max(counts) * len(counts) / sum(counts) if sum(counts) else None
