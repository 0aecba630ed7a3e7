"""Makes interners and cache models: readable ones for a small log, compiled for a large one.

Both give the same answers. Compiling takes seconds the first time on a machine, so a small
log, below roughly 2,000 requests or a few million units, is done sooner in plain Python. A model is
imported where it is made: most are not, and a small log takes less time than they do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.blocks import Interner
from kvaudit.replay.models.ideal import IdealCache, IdealPolicy, OptimalCache, UnboundedIdeal
from kvaudit.replay.models.interner import PlainInterner
from kvaudit.replay.models.stack import PlainStack, StackPass
from kvaudit.replay.models.trtllm_retention import DEFAULT_OPTIONS, TrtllmOptions
from kvaudit.replay.outcomes import CacheModel, Replica

if TYPE_CHECKING:
    from kvaudit.replay.models.engine_run import EngineSetup
    from kvaudit.replay.models.sglang_run import SglangSetup
    from kvaudit.replay.models.tiers import Tier, WritePolicy


def make_interner(*, block_units: int, tails: bool = False, small: bool) -> Interner:
    """Return an interner for blocks of ``block_units``.

    ``tails`` also numbers partial last blocks, which only the ideal cache at blocks of more
    than one unit needs.
    """
    if small:
        return PlainInterner(block_units, tails=tails)
    from kvaudit.replay.kernels.radix import RadixInterner

    return RadixInterner(block_units, tails=tails)


OptimalHits = Callable[[int], NDArray[np.int64]]
"""Takes a capacity in blocks; returns the hit blocks of each request of a log."""


def make_optimal(
    keys: NDArray[np.int32],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    *,
    small: bool,
) -> OptimalHits:
    """Return what the cache that knows the future hits of a log, as `OptimalCache.serve` says."""
    if small:
        return lambda capacity: OptimalCache(capacity_blocks=capacity).serve(keys, starts, ends)[
            :, 0
        ]
    from kvaudit.replay.kernels.optimal import KnownFuture

    return KnownFuture(keys, starts, ends).hits


def make_stack(*, small: bool) -> StackPass:
    """Return a pass that finds stack distances."""
    if small:
        return PlainStack()
    from kvaudit.replay.kernels.stack import CompiledStack

    return CompiledStack()


def make_vllm_pool(
    *, version: str, capacity_blocks: int | None, block_size: int, eagle: bool = False, small: bool
) -> CacheModel:
    """Return the block pool of a vLLM release; None as capacity never evicts.

    Raises `UsageError` for a release that is not modelled and for sizes that hold nothing.
    """
    from kvaudit.replay.models.vllm_releases import free_order

    order = free_order(version)
    if small:
        from kvaudit.replay.models.paged import VllmPool

        return VllmPool(
            capacity_blocks=capacity_blocks, block_size=block_size, free_order=order, eagle=eagle
        )
    from kvaudit.replay.kernels.paged import CompiledVllmPool

    return CompiledVllmPool(
        capacity_blocks=capacity_blocks, block_size=block_size, free_order=order, eagle=eagle
    )


def make_vllm_engine(setup: EngineSetup, *, small: bool) -> CacheModel:
    """Return vLLM with its scheduler and groups of layers; it is given the whole log at once."""
    if small:
        from kvaudit.replay.models.engine_run import EngineRun

        return EngineRun(setup)
    from kvaudit.replay.kernels.scheduled import CompiledEngineRun

    return CompiledEngineRun(setup)


def make_sglang(
    *,
    version: str,
    capacity_blocks: int | None,
    page_size: int,
    policy: str = "lru",
    eagle: bool = False,
    small: bool,
) -> Replica:
    """Return the radix cache of an SGLang release; None as capacity, in pages, never evicts.

    With ``eagle`` its keys are pairs of tokens.
    Raises `UsageError` for a release that is not modelled, for a policy that it does not have,
    and for sizes that hold nothing.
    """
    from kvaudit.replay.models.sglang import SglangCache
    from kvaudit.replay.models.sglang_releases import check_policy, rules

    check_policy(version, policy)
    make: Callable[..., Replica] = SglangCache
    if not small:
        from kvaudit.replay.kernels.sglang import CompiledSglangCache

        make = CompiledSglangCache
    return make(
        capacity_tokens=None if capacity_blocks is None else capacity_blocks * page_size,
        page_size=page_size,
        rules=rules(version),
        policy=policy,
        eagle=eagle,
    )


def make_hicache(
    *,
    version: str,
    capacity_blocks: int | None,
    page_size: int,
    policy: str = "lru",
    host_blocks: int | None,
    storage: Tier | None = None,
    write: WritePolicy,
    small: bool,
) -> CacheModel:
    """Return `make_sglang`'s cache with a host tier below it, and storage where there is one."""
    from kvaudit.replay.models.hicache import HiCache
    from kvaudit.replay.models.hicache_releases import host_rules
    from kvaudit.replay.models.sglang_releases import check_policy, rules

    check_policy(version, policy)
    make: Callable[..., CacheModel] = HiCache
    if not small:
        from kvaudit.replay.kernels.hicache import CompiledHiCache

        make = CompiledHiCache
    return make(
        capacity_tokens=None if capacity_blocks is None else capacity_blocks * page_size,
        page_size=page_size,
        rules=rules(version),
        host_rules=host_rules(version),
        host_pages=host_blocks,
        write=write,
        storage=storage,
        policy=policy,
    )


def make_sglang_engine(setup: SglangSetup, *, small: bool) -> CacheModel:
    """Return SGLang with its scheduler; it is given the whole log at once."""
    if small:
        from kvaudit.replay.models.sglang_run import SglangRun

        return SglangRun(setup)
    from kvaudit.replay.kernels.sglang_run import CompiledSglangRun

    return CompiledSglangRun(setup)


def make_trtllm(
    *,
    capacity_blocks: int | None,
    block_size: int,
    host_blocks: int | None = 0,
    options: TrtllmOptions = DEFAULT_OPTIONS,
    small: bool,
) -> Replica:
    """Return TensorRT-LLM's pools; None as capacity never evicts, 0 host blocks is no host."""
    from kvaudit.replay.models.trtllm import TrtllmPool

    make: Callable[..., Replica] = TrtllmPool
    if not small:
        from kvaudit.replay.kernels.trtllm import CompiledTrtllmPool

        make = CompiledTrtllmPool
    return make(
        capacity_blocks=capacity_blocks,
        block_size=block_size,
        host_blocks=host_blocks,
        options=options,
    )


def make_chunk_store(
    *,
    capacity_chunks: int | None,
    chunk_size: int,
    policy: str = "lru",
    keeps_partial: bool = False,
    saves_decoded: bool = False,
    lower_chunks: Sequence[int | None] = (),
    has_disk: bool = True,
    small: bool,
) -> Replica:
    """Return LMCache's CPU tier, with disk and remote store below it; None never evicts.

    With ``saves_decoded`` it is the plain model, whatever the log: chunks are few.
    """
    if small or saves_decoded:
        from kvaudit.replay.models.chunks import ChunkStore

        return ChunkStore(
            capacity_chunks=capacity_chunks,
            chunk_size=chunk_size,
            policy=policy,
            keeps_partial=keeps_partial,
            saves_decoded=saves_decoded,
            lower_chunks=lower_chunks,
            has_disk=has_disk,
        )
    from kvaudit.replay.kernels.chunks import CompiledChunkStore

    return CompiledChunkStore(
        capacity_chunks=capacity_chunks,
        chunk_size=chunk_size,
        policy=policy,
        keeps_partial=keeps_partial,
        lower_chunks=lower_chunks,
        has_disk=has_disk,
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
