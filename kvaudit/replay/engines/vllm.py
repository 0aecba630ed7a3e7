"""vLLM V1: full blocks, the last token always computed again, one queue of free blocks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean
from kvaudit.replay.curve_rows import CurveRules, full_block_rows
from kvaudit.replay.engine import CacheSettings, Engine, KeyChain
from kvaudit.replay.models.vllm_releases import NEWEST, FreeOrder, free_order
from kvaudit.replay.outcomes import CacheModel
from kvaudit.replay.tiers import TierRules


def _exactness(settings: CacheSettings) -> str:
    if settings.schedule == "steps":
        return (
            "equal to one engine's own scheduler, step by step, first come, first served; how "
            "long a step takes is not modelled"
        )
    if settings.retain_s is not None:
        return (
            "what a hint that no release of vLLM takes would do: a session's blocks are passed "
            f"over by eviction for {settings.retain_s:g} s after each use; an upper bound, since "
            "requests are replayed one after the other"
        )
    if settings.capacity_blocks is None:
        return "equal to the engine request by request while nothing is evicted"
    return (
        "an upper bound: requests are replayed one after the other, and in life those in "
        "flight compete with the cache for blocks"
    )


def _build(settings: CacheSettings) -> CacheModel:
    from kvaudit.replay.caches import make_scheduled_vllm, make_vllm_pool

    version = settings.version or NEWEST
    if settings.retain_s is not None:
        from kvaudit.replay.models.retained import RetainingPool

        return RetainingPool(
            capacity_blocks=settings.capacity_blocks,
            block_size=settings.block_size,
            free_order=free_order(version),
            eagle=settings.eagle,
            retain_s=settings.retain_s,
        )
    if settings.schedule == "steps":
        return make_scheduled_vllm(
            version=version,
            capacity_blocks=settings.capacity_blocks,
            block_size=settings.block_size,
            eagle=settings.eagle,
            max_num_batched_tokens=settings.max_num_batched_tokens,
            max_num_seqs=settings.max_num_seqs,
            small=settings.small,
        )
    return make_vllm_pool(
        version=version,
        capacity_blocks=settings.capacity_blocks,
        block_size=settings.block_size,
        eagle=settings.eagle,
        small=settings.small,
    )


def _curve(settings: CacheSettings) -> CurveRules:
    tail_stays = free_order(settings.version or NEWEST) is FreeOrder.ALL_TO_TAIL
    rows = partial(
        full_block_rows, block_tokens=settings.block_size, tail_stays=tail_stays, recomputes=True
    )
    # EAGLE computes the last hit block of every request again; in steps, what is evicted
    # depends on what else runs.
    return CurveRules(rows=rows, is_stack=settings.schedule == "sequential" and not settings.eagle)


def _own_keys(version: str, spec: str) -> KeyChain:
    """Return vLLM's key chain; ``spec`` is an algorithm, and after a colon PYTHONHASHSEED."""
    from kvaudit.replay.engine_keys import Adapter, KeyAlgorithm, VllmKeys

    name, colon, seed = spec.partition(":")
    if name not in list(KeyAlgorithm):
        raise UsageError(
            f"--engine-keys {spec}: {name} is no algorithm of vLLM"
            f"{did_you_mean(name, KeyAlgorithm)}"
        )
    keys = VllmKeys(
        version=version, algorithm=KeyAlgorithm(name), hash_seed=seed if colon else None
    )

    def chain(
        token_ids: Sequence[int], block_size: int, lora: str | None, salt: str | None
    ) -> list[bytes]:
        adapter = Adapter(lora) if lora is not None else None
        return keys.chain(token_ids, block_size=block_size, adapter=adapter, salt=salt)

    return chain


ENGINE = Engine(
    name="vllm",
    title="vLLM V1 block pool, 0.9.2 to the newest release modelled",
    newest_version=NEWEST,
    block_size=16,
    policies=("lru",),
    clairvoyant_policies=frozenset(),
    schedules=("sequential", "steps"),
    eagle=True,
    partial_blocks=False,
    definition="contiguous prefix of full blocks, short of the last token",
    exactness=_exactness,
    tiers=TierRules(names=("hbm", "dram", "disk"), whole_prompt=False, keeps_output=False),
    build=_build,
    curve=_curve,
    own_keys=_own_keys,
    retains=True,
)
