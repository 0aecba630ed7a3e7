"""Makes an engine's cache with the tiers of a plan below it."""

from __future__ import annotations

from dataclasses import replace

from kvaudit.core.errors import UsageError
from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.models.tiers import Lower, LowerTiers, WritePolicy
from kvaudit.replay.tiers import MovesBlocks, MovingTier, TieredCache, TierLedger, TierPlan


def with_tiers(
    engine: Engine, settings: CacheSettings, plan: TierPlan, *, per_token: int | None
) -> TierLedger:
    """Return the cache; ``per_token`` are the KV bytes of a token, for sizes in bytes.

    Raises `UsageError` for a tier that holds no block, or whose bytes need a model.
    """
    assert engine.tiers is not None
    capacities = []
    for number, capacity in enumerate(plan.capacities, start=2):
        try:
            blocks = capacity.to_blocks(
                block_size=settings.block_size, kv_bytes_per_token=per_token
            )
        except UsageError as error:
            raise UsageError(f"--l{number}: {error}") from None
        capacities.append(blocks)
    if engine.tiers.moves:
        cache = engine.build(replace(settings, host_blocks=capacities[0]))
        assert isinstance(cache, MovesBlocks)
        return MovingTier(cache, capacities[0], engine.tiers, settings.block_size)
    policy = plan.policy or WritePolicy.THROUGH
    lower: Lower
    if policy is WritePolicy.BACK:  # only the plain models tell what they evict
        settings = replace(settings, small=True)
    if settings.small:
        lower = LowerTiers(capacities, policy=policy, exclusive=plan.exclusive)
    else:
        from kvaudit.replay.kernels.tiers import CompiledLowerTiers

        lower = CompiledLowerTiers(capacities, policy=policy)
    return TieredCache(engine.build(settings), lower, engine.tiers, settings.block_size)
