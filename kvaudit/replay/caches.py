"""Makes cache models: the readable one for a small log, the compiled one for a large one.

Both give the same answers. Compiling takes seconds the first time on a machine, so a small
log, below roughly 2,000 requests or a few million units, is done sooner in plain Python.
"""

from __future__ import annotations

from kvaudit.replay.models.ideal import IdealCache, IdealPolicy, OptimalCache, UnboundedIdeal
from kvaudit.replay.models.paged import VllmPool
from kvaudit.replay.models.vllm_releases import free_order
from kvaudit.replay.outcomes import CacheModel


def make_vllm_pool(
    *, version: str, capacity_blocks: int | None, block_size: int, eagle: bool = False, small: bool
) -> CacheModel:
    """Return the block pool of a vLLM release; None as capacity never evicts.

    Raises `UsageError` for a release that is not modelled and for sizes that hold nothing.
    """
    order = free_order(version)
    if small:
        return VllmPool(
            capacity_blocks=capacity_blocks, block_size=block_size, free_order=order, eagle=eagle
        )
    from kvaudit.replay.kernels.paged import CompiledVllmPool

    return CompiledVllmPool(
        capacity_blocks=capacity_blocks, block_size=block_size, free_order=order, eagle=eagle
    )


def make_ideal(
    *, capacity_blocks: int | None, policy: IdealPolicy = IdealPolicy.LRU, small: bool
) -> CacheModel:
    """Return the ideal cache; None as capacity keeps everything, whatever the policy.

    Bounded and ``optimal``, it must be given the whole log as one batch.
    """
    if capacity_blocks is None:
        return UnboundedIdeal()
    optimal = policy is IdealPolicy.OPTIMAL
    if small and optimal:
        return OptimalCache(capacity_blocks=capacity_blocks)
    if small:
        return IdealCache(capacity_blocks=capacity_blocks, policy=policy)
    from kvaudit.replay.kernels.ideal import CompiledIdealCache, CompiledOptimalCache

    if optimal:
        return CompiledOptimalCache(capacity_blocks=capacity_blocks)
    return CompiledIdealCache(capacity_blocks=capacity_blocks, policy=policy)
