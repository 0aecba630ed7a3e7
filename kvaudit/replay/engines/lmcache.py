"""LMCache's CPU tier without a GPU cache above it: chunks, of prompts only."""

from __future__ import annotations

from kvaudit.core.errors import UsageError
from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.outcomes import CacheModel
from kvaudit.replay.tiers import TierRules

VERSION = "0.5.6"
"""The release that was read."""


def _exactness(settings: CacheSettings) -> str:
    return "equal to the CPU tier alone, requests one after the other, as if no engine cached"


def _build(settings: CacheSettings) -> CacheModel:
    from kvaudit.replay.caches import make_chunk_store

    if settings.version != VERSION:
        raise UsageError(
            f"LMCache {settings.version} is not modelled; kvaudit knows {VERSION}: "
            f"use --engine-version {VERSION}"
        )
    return make_chunk_store(
        capacity_chunks=settings.capacity_blocks,
        chunk_size=settings.block_size,
        policy=settings.policy,
        small=settings.small,
    )


ENGINE = Engine(
    name="lmcache",
    title="LMCache CPU tier on its own, 0.5.6",
    newest_version=VERSION,
    block_size=256,
    policies=("lru", "lfu", "fifo", "mru"),
    clairvoyant_policies=frozenset(),
    schedules=("sequential",),
    eagle=False,
    partial_blocks=False,
    # The in-process adapter keys chunks by tokens and model only (LMCache issue 2961).
    shared_across=frozenset({"lora", "salt"}),
    definition="contiguous prefix of full chunks",
    exactness=_exactness,
    tiers=TierRules(names=("dram", "disk", "remote"), whole_prompt=True, keeps_output=False),
    build=_build,
)
