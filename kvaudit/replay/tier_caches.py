"""Makes an engine's cache with the tiers of a plan below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kvaudit.core.errors import UsageError
from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.models.tiers import Lower, LowerTiers, WritePolicy
from kvaudit.replay.tiers import (
    MovesBlocks,
    OwnTiers,
    TieredCache,
    TierLedger,
    TierPlan,
    TierRules,
)

if TYPE_CHECKING:
    from kvaudit.replay.models.chunk_places import Remote
    from kvaudit.replay.models.chunks import ChunkStore


def tier_blocks(plan: TierPlan, *, block_size: int, per_token: int | None) -> list[int | None]:
    """Return the sizes of the tiers in blocks; ``per_token`` are the KV bytes of a token.

    Raises `UsageError` for a tier that holds no block, or whose bytes need a model.
    """
    capacities = []
    for number, capacity in enumerate(plan.capacities, start=2):
        try:
            blocks = capacity.to_blocks(block_size=block_size, kv_bytes_per_token=per_token)
        except UsageError as error:
            raise UsageError(f"--l{number}: {error}") from None
        capacities.append(blocks)
    return capacities


def chunk_store(
    settings: CacheSettings,
    plan: TierPlan,
    sizes: Sequence[int | None],
    remote: Remote | None = None,
) -> ChunkStore:
    """Return LMCache's tiers, empty: alone, or below an engine's cache, by the plan.

    ``sizes`` are those of the plan's tiers in chunks; ``remote`` is a store that others have too.
    """
    from kvaudit.replay.models.chunks import ChunkStore

    capacity, policy, size = settings.capacity_blocks, settings.policy, settings.block_size
    if plan.is_lmcache:
        (capacity, *sizes), policy, size = sizes, settings.chunk_policy, settings.chunk_size
    return ChunkStore(
        capacity_chunks=capacity,
        chunk_size=size,
        policy=policy,
        keeps_partial=settings.keeps_partial,
        saves_decoded=settings.saves_decoded,
        lower_chunks=sizes,
        has_disk=plan.has_disk,
        remote=remote,
    )


def tier_rules(engine: Engine, plan: TierPlan) -> TierRules:
    """Return the engine's rules, and what the tiers of the plan are called."""
    rules = engine.tiers
    assert rules is not None
    if plan.is_lmcache:
        return replace(rules, names=(rules.names[0], "dram", "disk" if plan.has_disk else "remote"))
    named = zip(rules.names[1:], (*plan.kinds, None, None), strict=False)
    below = [str(kind or name) for name, kind in named]
    return replace(rules, names=(rules.names[0], below[0], below[1]))


def tiered_settings(
    settings: CacheSettings, plan: TierPlan, *, per_token: int | None
) -> CacheSettings:
    """Return the settings with the tiers of the plan, for an engine whose model knows them."""
    size = settings.chunk_size if plan.is_lmcache else settings.block_size
    capacities = tier_blocks(plan, block_size=size, per_token=per_token)
    return replace(
        settings,
        lower_blocks=tuple(capacities),
        has_disk=plan.has_disk,
        write=plan.policy or WritePolicy.THROUGH,
    )


def with_tiers(
    engine: Engine,
    settings: CacheSettings,
    plan: TierPlan,
    *,
    per_token: int | None,
    lmcache_namespaces: Sequence[int] = (),
) -> TierLedger:
    """Return the cache; ``per_token`` as in `tier_blocks`, which also tells the errors.

    ``lmcache_namespaces`` says which namespaces are one to LMCache; without, none are followed.
    """
    rules = tier_rules(engine, plan)
    tiered = tiered_settings(settings, plan, per_token=per_token)
    if plan.is_lmcache:
        from kvaudit.replay.connected import ConnectedStore

        return ConnectedStore(
            engine.build(settings),
            chunk_store(settings, plan, tiered.lower_blocks),
            rules,
            block_size=settings.block_size,
            small=settings.small,
            lmcache_namespaces=lmcache_namespaces,
        )
    capacities = tiered.lower_blocks
    policy = tiered.write
    knows = rules.own_policies or policy is WritePolicy.THROUGH
    if rules.own_tiers and knows:
        cache = engine.build(tiered)
        assert isinstance(cache, MovesBlocks)
        return OwnTiers(cache, rules, settings.block_size)
    lower: Lower
    if policy is WritePolicy.BACK:  # only the plain models tell what they evict
        settings = replace(settings, small=True)
    if settings.small:
        lower = LowerTiers(capacities, policy=policy, exclusive=plan.exclusive)
    else:
        from kvaudit.replay.kernels.tiers import CompiledLowerTiers

        lower = CompiledLowerTiers(capacities, policy=policy)
    return TieredCache(engine.build(settings), lower, rules, settings.block_size)
