"""TensorRT-LLM: a tree of blocks, hits to the token, the last token always computed again."""

from __future__ import annotations

import re
from dataclasses import replace

from kvaudit.core.errors import UsageError
from kvaudit.replay.curve_rows import CurveRules
from kvaudit.replay.engine import CacheSettings, Engine, replayed_only
from kvaudit.replay.outcomes import CacheModel
from kvaudit.replay.tiers import TierRules

OLDEST, NEWEST = "1.0.0", "1.2.1"
"""The source that was read is of the middle of 2025 and of 2026; both have the same rules."""


def _exactness(settings: CacheSettings) -> str:
    return (
        "modelled from the source and compared with no recording; requests one after the other, "
        "and in life those in flight compete with the cache for blocks"
    )


def _build(settings: CacheSettings) -> CacheModel:
    from kvaudit.replay.caches import make_trtllm

    _check(settings.version or NEWEST)
    return make_trtllm(
        capacity_blocks=settings.capacity_blocks,
        block_size=settings.block_size,
        host_blocks=settings.lower_blocks[0] if settings.lower_blocks else 0,
        options=settings.trtllm,
        small=settings.small,
    )


def _check(version: str) -> None:
    """Refuse a release that is not modelled. Raises `UsageError` with the nearest one."""
    match = re.fullmatch(r"v?(\d+)\.(\d+)(?:\.(\d+))?", version.strip())
    if match is None:
        raise UsageError(
            f"{version!r} is not a TensorRT-LLM version; write it like --engine-version {NEWEST}"
        )
    release = tuple(int(part or 0) for part in match.groups())
    oldest, newest = (tuple(map(int, v.split("."))) for v in (OLDEST, NEWEST))
    if not oldest <= release <= newest:
        nearest = OLDEST if release < oldest else NEWEST
        raise UsageError(
            f"TensorRT-LLM {version} is not modelled; kvaudit knows {OLDEST} to {NEWEST}: "
            f"use --engine-version {nearest}"
        )


def _curve(settings: CacheSettings) -> CurveRules:
    # Hits end inside a block, so the optimum over whole blocks is no bound of theirs.
    return replace(replayed_only(settings), has_optimal=False)


ENGINE = Engine(
    name="trtllm",
    title="TensorRT-LLM block reuse with partial blocks",
    newest_version=NEWEST,
    block_size=32,
    policies=("lru",),
    clairvoyant_policies=frozenset(),
    schedules=("sequential",),
    eagle=False,
    partial_blocks=False,
    needs_tokens=True,
    curve=_curve,
    is_trtllm=True,
    definition="contiguous prefix to the token, short of the last one",
    exactness=_exactness,
    tiers=TierRules(
        names=("hbm", "dram", "disk"),
        whole_prompt=False,
        keeps_output=True,
        own_tiers=1,
        any_policy=False,
    ),
    build=_build,
)
