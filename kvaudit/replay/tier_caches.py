"""Makes an engine's cache with the tiers of a plan below it."""

from __future__ import annotations

from dataclasses import replace

from kvaudit.core.errors import UsageError
from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.models.tiers import Lower, LowerTiers, WritePolicy
from kvaudit.replay.tiers import MovesBlocks, OwnTiers, TieredCache, TierLedger, TierPlan


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


def with_tiers(
    engine: Engine,
    settings: CacheSettings,
    plan: TierPlan,
    *,
    per_token: int | None,
) -> TierLedger:
    """Return the cache; ``per_token`` as in `tier_blocks`, which also tells the errors."""
    assert engine.tiers is not None
    capacities = tier_blocks(plan, block_size=settings.block_size, per_token=per_token)
    policy = plan.policy or WritePolicy.THROUGH
    knows = engine.tiers.own_policies or policy is WritePolicy.THROUGH
    if engine.tiers.own_tiers and knows:
        cache = engine.build(replace(settings, lower_blocks=tuple(capacities), write=policy))
        assert isinstance(cache, MovesBlocks)
        return OwnTiers(cache, engine.tiers, settings.block_size)
    lower: Lower
    if policy is WritePolicy.BACK:  # only the plain models tell what they evict
        settings = replace(settings, small=True)
    if settings.small:
        lower = LowerTiers(capacities, policy=policy, exclusive=plan.exclusive)
    else:
        from kvaudit.replay.kernels.tiers import CompiledLowerTiers

        lower = CompiledLowerTiers(capacities, policy=policy)
    return TieredCache(engine.build(settings), lower, engine.tiers, settings.block_size)
