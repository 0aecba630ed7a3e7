"""SGLang: a radix tree on tokens, whole leaves evicted, the last token always computed again."""

from __future__ import annotations

from functools import partial

from kvaudit.core.errors import UsageError
from kvaudit.replay.curve_rows import CurveRules, full_block_rows
from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.models.sglang_queue import SglangLimits
from kvaudit.replay.models.sglang_releases import (
    NEWEST,
    POLICIES,
    admitting,
    check_policy,
    rules,
)
from kvaudit.replay.models.sglang_run import SglangSetup
from kvaudit.replay.models.tiers import Tier
from kvaudit.replay.outcomes import CacheModel
from kvaudit.replay.tiers import TierRules


def _exactness(settings: CacheSettings) -> str:
    if settings.schedule == "steps":
        return (
            "equal to one engine's own scheduler, step by step, where the log's output lengths "
            "are the max_new_tokens that were asked for"
        )
    if settings.capacity_blocks is None:
        if settings.eagle:
            return (
                "equal to the engine request by request while nothing is evicted and no draft is "
                "accepted beyond an answer's end"
            )
        return "equal to the engine request by request while nothing is evicted"
    return (
        "an upper bound: requests are replayed one after the other, and in life those in "
        "flight compete with the cache for room"
    )


def _build(settings: CacheSettings) -> CacheModel:
    from kvaudit.replay.caches import make_sglang

    if settings.eagle:
        _check_eagle(settings)
    if settings.schedule == "steps":
        return _build_steps(settings)
    if settings.lower_blocks:
        return _build_hicache(settings)
    return make_sglang(
        version=settings.version or NEWEST,
        capacity_blocks=settings.capacity_blocks,
        page_size=settings.block_size,
        policy=settings.policy,
        eagle=settings.eagle,
        small=settings.small,
    )


def _check_eagle(settings: CacheSettings) -> None:
    """Refuse what is not modelled beside EAGLE."""
    if settings.schedule == "steps" or settings.lower_blocks:
        other = "--schedule steps" if settings.schedule == "steps" else "--l2 and --l3"
        raise UsageError(f"--eagle with SGLang is not modelled with {other}; leave one of them out")


def _build_hicache(settings: CacheSettings) -> CacheModel:
    """Return the cache with a host tier, and a storage tier where there is one."""
    from kvaudit.replay.caches import make_hicache

    host, *storage = settings.lower_blocks
    return make_hicache(
        version=settings.version or NEWEST,
        capacity_blocks=settings.capacity_blocks,
        page_size=settings.block_size,
        policy=settings.policy,
        host_blocks=host,
        storage=Tier(storage[0]) if storage else None,
        write=settings.write,
        small=settings.small,
    )


def _build_steps(settings: CacheSettings) -> CacheModel:
    from kvaudit.replay.caches import make_sglang_engine

    version, limits, page = settings.version or NEWEST, settings.limits, settings.block_size
    check_policy(version, settings.policy)
    lets_in = admitting(version)
    if limits.by_priority or limits.watermark or limits.long_prefill_tokens:
        raise UsageError(
            "--scheduling-policy priority, --watermark and --long-prefill-token-threshold are "
            "vLLM's; leave them out with --engine sglang"
        )
    if limits.max_num_batched_tokens % page:
        nearest = max(1, limits.max_num_batched_tokens // page) * page
        raise UsageError(
            f"--max-num-batched-tokens {limits.max_num_batched_tokens}: SGLang cuts prefills into "
            f"whole pages of {page} tokens; the nearest is {nearest}"
        )
    setup = SglangSetup(
        capacity_pages=settings.capacity_blocks,
        page_size=page,
        rules=rules(version),
        policy=settings.policy,
        limits=SglangLimits(
            max_running=limits.max_num_seqs,
            chunk_tokens=limits.max_num_batched_tokens,
            by_longest_prefix=limits.by_longest_prefix,
            **lets_in._asdict(),
        ),
    )
    return make_sglang_engine(setup, small=settings.small)


def _curve(settings: CacheSettings) -> CurveRules:
    # No stack: a lookup that splits a node refreshes the rest of it too, and whole leaves are
    # evicted, so a larger cache may hit less.
    rows = partial(full_block_rows, block_tokens=settings.block_size, last_output_stays=True)
    return CurveRules(rows=rows, is_stack=False)


ENGINE = Engine(
    name="sglang",
    title="SGLang radix cache, 0.5.4 to the newest release modelled",
    newest_version=NEWEST,
    block_size=1,
    policies=POLICIES,
    clairvoyant_policies=frozenset(),
    schedules=("sequential", "steps"),
    eagle=True,
    partial_blocks=False,
    definition="contiguous prefix in whole pages, short of the last token",
    exactness=_exactness,
    tiers=TierRules(
        names=("hbm", "dram", "disk"),
        whole_prompt=False,
        keeps_output=True,
        own_tiers=2,
        own_policies=True,
    ),
    build=_build,
    curve=_curve,
)
