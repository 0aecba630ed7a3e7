"""vLLM V1: full blocks, the last token always computed again, one queue of free blocks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean
from kvaudit.replay.curve_rows import CurveRules, full_block_rows
from kvaudit.replay.engine import CacheSettings, Engine, KeyChain
from kvaudit.replay.models.engine_run import ONE_BY_ONE, EngineSetup
from kvaudit.replay.models.kv_groups import FULL_ATTENTION, GroupKind, StateMode
from kvaudit.replay.models.layout import Layout
from kvaudit.replay.models.vllm_releases import (
    NEWEST,
    FreeOrder,
    Preemption,
    Rules,
    free_order,
    rules_of,
)
from kvaudit.replay.outcomes import CacheModel
from kvaudit.replay.tiers import TierRules


def _exactness(settings: CacheSettings) -> str:
    if settings.schedule == "steps":
        return (
            "equal to one engine's own scheduler, step by step; how long a step takes is not "
            "modelled"
        )
    if settings.schedule == "timed":
        return (
            "one engine's own scheduler, with steps as long as a roofline says; what is in "
            "flight takes blocks from the cache"
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
    from kvaudit.replay.caches import make_vllm_engine, make_vllm_pool

    if settings.retain_s is not None:
        from kvaudit.replay.models.retained import RetainingPool

        if settings.groups != FULL_ATTENTION:
            raise UsageError("--retain is modelled for full attention only; leave --groups out")
        return RetainingPool(
            capacity_blocks=settings.capacity_blocks,
            block_size=settings.block_size,
            free_order=free_order(settings.version or NEWEST),
            eagle=settings.eagle,
            retain_s=settings.retain_s,
        )
    rules = rules_of(settings.version or NEWEST)
    one_by_one = settings.schedule == "sequential"
    if not one_by_one or settings.groups != FULL_ATTENTION:
        _check(settings, rules)
        setup = EngineSetup(
            capacity_blocks=settings.capacity_blocks,
            layout=Layout(
                groups=settings.groups,
                block_size=settings.block_size,
                eagle=settings.eagle,
                retention_tokens=settings.retention_tokens,
                budget=None if one_by_one else settings.limits.max_num_batched_tokens,
            ),
            rules=rules,
            limits=ONE_BY_ONE if one_by_one else settings.limits,
            time=settings.step_cost,
            in_order=one_by_one,
        )
        return make_vllm_engine(setup, small=settings.small)
    return make_vllm_pool(
        version=settings.version or NEWEST,
        capacity_blocks=settings.capacity_blocks,
        block_size=settings.block_size,
        eagle=settings.eagle,
        small=settings.small,
    )


def _remarks(settings: CacheSettings) -> Sequence[str]:
    """Say where the engine's own default for sparse retention differs from what was replayed."""
    rules = rules_of(settings.version or NEWEST)
    sparse = {GroupKind.SLIDING, GroupKind.MAMBA} & {group.kind for group in settings.groups}
    if not sparse or not rules.sparse_by_default or settings.retention_tokens is not None:
        return ()
    return (
        f"replayed with dense retention; vLLM {settings.version} itself keeps less of windows and "
        "states unless told otherwise: --retention 0 replays that",
    )


def _check(settings: CacheSettings, rules: Rules) -> None:
    """Refuse what the release does not have. Raises `UsageError`."""
    version, kinds = settings.version, {group.kind for group in settings.groups}
    modes = {group.mode for group in settings.groups}
    retention = settings.retention_tokens
    others = {group for group in settings.groups if group.kind is not GroupKind.FULL}
    if settings.eagle and GroupKind.CHUNKED in kinds:
        raise UsageError("--eagle: vLLM has no chunked attention with it; leave one of them out")
    if len(others) > 1 and not rules.several_kinds:
        raise UsageError(
            f"--groups: vLLM {version} has one kind of layer beside full attention; name one"
        )
    if StateMode.ALIGN in modes:
        _check_align(settings, rules)
    if StateMode.ALL in modes and not rules.mamba_all:
        raise UsageError(f"--groups: vLLM {version} does not cache states by mamba:all")
    if retention and retention % settings.block_size:
        raise UsageError(
            f"--retention {retention} is no multiple of the block size, {settings.block_size}"
        )
    if retention is not None and not rules.retention:
        raise UsageError(
            f"--retention: vLLM {version} keeps all blocks of a window; leave it out, or name a "
            "newer --engine-version"
        )
    if settings.limits.by_longest_prefix:
        raise UsageError("--scheduling-policy lpm is SGLang's; vllm has fcfs and priority")
    if settings.limits.by_priority and rules.preemption is Preemption.NOT_MODELLED:
        raise UsageError(
            f"--scheduling-policy priority of vLLM {version} is not modelled; 0.12.0 and newer are"
        )


def _check_align(settings: CacheSettings, rules: Rules) -> None:
    """Refuse what state layers in the mode ``align`` cannot run with. Raises `UsageError`."""
    if not rules.mamba_align:
        raise UsageError(
            f"--groups: vLLM {settings.version} does not cache states by mamba:align; 0.15.0 and "
            "newer do"
        )
    if settings.schedule == "sequential":
        return
    limits, size = settings.limits, settings.block_size
    # vLLM's own configuration refuses the same: no chunk could end on a block boundary.
    if limits.max_num_batched_tokens < size:
        raise UsageError(
            f"--max-num-batched-tokens {limits.max_num_batched_tokens}: with mamba:align a step "
            f"must hold a block, {size} tokens"
        )
    if 0 < limits.long_prefill_tokens < size:
        raise UsageError(
            f"--long-prefill-token-threshold {limits.long_prefill_tokens}: with mamba:align it "
            f"must hold a block, {size} tokens"
        )


def _curve(settings: CacheSettings) -> CurveRules:
    tail_stays = free_order(settings.version or NEWEST) is FreeOrder.ALL_TO_TAIL
    rows = partial(
        full_block_rows, block_tokens=settings.block_size, tail_stays=tail_stays, recomputes=True
    )
    # EAGLE computes the last hit block of every request again; in steps, what is evicted
    # depends on what else runs.
    whole = settings.groups == FULL_ATTENTION
    alone = settings.schedule == "sequential" and settings.retain_s is None
    return CurveRules(rows=rows, is_stack=alone and whole and not settings.eagle, has_optimal=whole)


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
    schedules=("sequential", "steps", "timed"),
    layer_groups=True,
    may_connect_lmcache=True,
    remarks=_remarks,
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
