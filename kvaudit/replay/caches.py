"""Makes cache models: the readable one for a small log, the compiled one for a large one.

Both give the same answers. Compiling takes seconds the first time on a machine, so a small
log, below roughly 2,000 requests or a few million units, is done sooner in plain Python.
"""

from __future__ import annotations

from kvaudit.replay.models.ideal import IdealCache, IdealPolicy, OptimalCache, UnboundedIdeal
from kvaudit.replay.models.paged import VllmPool
from kvaudit.replay.models.vllm_releases import free_order
from kvaudit.replay.outcomes import CacheModel, ForesightModel


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

    A bounded ``optimal`` one needs the whole log first: see `make_optimal`.
    """
    if capacity_blocks is None:
        return UnboundedIdeal()
    if small:
        return IdealCache(capacity_blocks=capacity_blocks, policy=policy)
    from kvaudit.replay.kernels.ideal import CompiledIdealCache

    return CompiledIdealCache(capacity_blocks=capacity_blocks, policy=policy)


def make_optimal(*, capacity_blocks: int, small: bool) -> ForesightModel:
    """Return the ideal cache that drops what is needed furthest in the future."""
    if small:
        return OptimalCache(capacity_blocks=capacity_blocks)
    from kvaudit.replay.kernels.ideal import CompiledOptimalCache

    return CompiledOptimalCache(capacity_blocks=capacity_blocks)
