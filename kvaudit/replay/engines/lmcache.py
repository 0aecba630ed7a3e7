"""LMCache without a GPU cache above it: chunks of prompts in CPU memory, on disk and remote."""

from __future__ import annotations

import re
from functools import partial

from kvaudit.core.errors import UsageError
from kvaudit.replay.curve_rows import CurveRules, full_block_rows
from kvaudit.replay.engine import LMCACHE_CHUNK, LMCACHE_POLICIES, CacheSettings, Engine
from kvaudit.replay.namespaces import NOT_IN_LMCACHE
from kvaudit.replay.outcomes import CacheModel
from kvaudit.replay.tiers import TierRules

OLDEST, NEWEST = "0.3.9.post1", "0.5.6"
"""Releases whose CPU tier was read, and some of them run."""
OLDEST_WITH_TIERS = "0.5.5"
"""Before it the disk counts a chunk that is written twice twice, and loses that room for good."""

_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:\.post(\d+))?")


def _exactness(settings: CacheSettings) -> str:
    return "equal to LMCache's own tiers, requests one after the other, as if no engine cached"


def _build(settings: CacheSettings) -> CacheModel:
    from kvaudit.replay.caches import make_chunk_store

    version = settings.version or NEWEST
    _check(version, has_tiers=bool(settings.lower_blocks), has_disk=settings.has_disk)
    return make_chunk_store(
        capacity_chunks=settings.capacity_blocks,
        chunk_size=settings.block_size,
        policy=settings.policy,
        keeps_partial=settings.keeps_partial,
        saves_decoded=settings.saves_decoded,
        lower_chunks=settings.lower_blocks,
        has_disk=settings.has_disk,
        small=settings.small,
    )


def _check(version: str, *, has_tiers: bool, has_disk: bool) -> None:
    """Refuse a release that is not modelled. Raises `UsageError` with the nearest one."""
    release = _release(version)
    if not _release(OLDEST) <= release <= _release(NEWEST):
        nearest = OLDEST if release < _release(OLDEST) else NEWEST
        raise UsageError(
            f"LMCache {version} is not modelled; kvaudit knows {OLDEST} to {NEWEST}: "
            f"use --engine-version {nearest}"
        )
    if not has_tiers or release >= _release(OLDEST_WITH_TIERS):
        return
    why = f"the remote store of LMCache {version} was not read"
    if has_disk:
        why = (
            f"the disk of LMCache {version} is not modelled: it counts a chunk that is written "
            "again twice, and loses that room for good"
        )
    raise UsageError(
        f"--l2: {why}; use --engine-version {OLDEST_WITH_TIERS} or newer, or leave --l2 out"
    )


def _release(version: str) -> tuple[int, ...]:
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        raise UsageError(
            f"{version!r} is not an LMCache version; write it like --engine-version {NEWEST}"
        )
    return tuple(int(part or 0) for part in match.groups())


def _curve(settings: CacheSettings) -> CurveRules:
    rows = partial(
        full_block_rows,
        block_tokens=settings.block_size,
        last_token_hits=True,
        output_stays=settings.saves_decoded,
    )
    # Full chunks alone are in the rows, so their optimum is no bound where partial ones hit too.
    return CurveRules(rows=rows, is_stack=False, has_optimal=not settings.keeps_partial)


ENGINE = Engine(
    name="lmcache",
    title="LMCache on its own: CPU tier, disk, remote store",
    newest_version=NEWEST,
    block_size=LMCACHE_CHUNK,
    policies=LMCACHE_POLICIES,
    clairvoyant_policies=frozenset(),
    schedules=("sequential",),
    eagle=False,
    partial_blocks=False,
    may_keep_partial=True,
    may_save_decoded=True,
    has_remote=True,
    curve=_curve,
    shared_across=NOT_IN_LMCACHE,
    definition="contiguous prefix of chunks",
    exactness=_exactness,
    tiers=TierRules(
        names=("dram", "disk", "remote"), whole_prompt=True, keeps_output=False, own_tiers=2
    ),
    build=_build,
)
