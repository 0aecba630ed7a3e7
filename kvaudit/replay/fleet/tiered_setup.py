"""Makes replicas with the tiers of a plan: instances of LMCache, alone or below vLLM's."""

from __future__ import annotations

from dataclasses import replace

from kvaudit.replay.connected import store_note
from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.fleet.chunk_members import ChunkMembers
from kvaudit.replay.fleet.connected_members import ConnectedMembers
from kvaudit.replay.fleet.plan import FleetPlan, HashSeeds
from kvaudit.replay.fleet.tiered import FleetTiers, TieredFleet, TieredMembers
from kvaudit.replay.models.chunk_places import Remote
from kvaudit.replay.models.chunks import ChunkStore
from kvaudit.replay.outcomes import CacheModel
from kvaudit.replay.tier_caches import chunk_store, tier_rules, tiered_settings, with_tiers
from kvaudit.replay.tiers import OwnTiers, TierLedger, TierPlan


def tiered_fleet(
    fleet: FleetPlan,
    engine: Engine,
    settings: CacheSettings,
    plan: TierPlan,
    *,
    per_token: int | None,
    block_units: int,
) -> TierLedger:
    """Return the replicas; ``per_token`` are the KV bytes of a token, as for `with_tiers`."""
    rules = tier_rules(engine, plan)
    # Made once in any case: it refuses what cannot be.
    with_tiers(engine, settings, plan, per_token=per_token)
    sizes = tiered_settings(settings, plan, per_token=per_token).lower_blocks
    lower = sizes[1:] if plan.is_lmcache else sizes
    has_disk = plan.has_disk and len(lower) > 0
    has_remote = len(lower) > has_disk

    def make(remote: Remote | None) -> ChunkStore:
        return chunk_store(settings, plan, sizes, remote)

    stores = ChunkMembers(
        make,
        Remote(lower[-1]) if has_remote else None,
        same_keys=fleet.hash_seeds is HashSeeds.SAME,
    )
    members: TieredMembers = stores
    if plan.is_lmcache:
        members = ConnectedMembers(engine, settings, stores)
    tiers = FleetTiers(
        members=members,
        one=_one(fleet, engine, settings, plan, per_token=per_token),
        own=rules.names[: 1 + plan.is_lmcache + has_disk],
        has_remote=has_remote,
    )
    cache = TieredFleet(fleet, engine, settings, tiers, block_units=block_units)
    note = None
    if plan.is_lmcache:
        note = store_note(rules, settings.chunk_size, settings.chunk_policy)
    return OwnTiers(
        cache,
        rules,
        settings.block_size,
        lower_block_size=settings.chunk_size if plan.is_lmcache else settings.block_size,
        note=note,
    )


def _one(
    fleet: FleetPlan,
    engine: Engine,
    settings: CacheSettings,
    plan: TierPlan,
    *,
    per_token: int | None,
) -> CacheModel | None:
    """Return one cache of the memory of all; None where that is not bounded."""
    count = fleet.instances
    if settings.capacity_blocks is None or count is None:
        return None
    own = plan.is_lmcache + plan.has_disk
    sizes = [size.times(count) if n < own else size for n, size in enumerate(plan.capacities)]
    larger = replace(settings, capacity_blocks=settings.capacity_blocks * count)
    return with_tiers(engine, larger, replace(plan, capacities=tuple(sizes)), per_token=per_token)
