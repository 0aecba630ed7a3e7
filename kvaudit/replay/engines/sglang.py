"""SGLang: a radix tree on tokens, whole leaves evicted, the last token always computed again."""

from __future__ import annotations

from functools import partial

from kvaudit.replay.curve_rows import CurveRules, full_block_rows
from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.models.sglang_releases import NEWEST, POLICIES
from kvaudit.replay.outcomes import CacheModel
from kvaudit.replay.tiers import TierRules


def _exactness(settings: CacheSettings) -> str:
    if settings.capacity_blocks is None:
        return "equal to the engine request by request while nothing is evicted"
    return (
        "an upper bound: requests are replayed one after the other, and in life those in "
        "flight compete with the cache for room"
    )


def _build(settings: CacheSettings) -> CacheModel:
    from kvaudit.replay.caches import make_sglang

    return make_sglang(
        version=settings.version or NEWEST,
        capacity_blocks=settings.capacity_blocks,
        page_size=settings.block_size,
        policy=settings.policy,
        small=settings.small,
    )


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
    schedules=("sequential",),
    eagle=False,
    partial_blocks=False,
    definition="contiguous prefix in whole pages, short of the last token",
    exactness=_exactness,
    tiers=TierRules(names=("hbm", "dram", "disk"), whole_prompt=False, keeps_output=True),
    build=_build,
    curve=_curve,
)
