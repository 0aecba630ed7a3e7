"""The ideal cache: every prefix it holds can be reused to the last unit, whole prompts too."""

from __future__ import annotations

from kvaudit.replay.curve_rows import CurveRules, ideal_rows
from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.outcomes import CacheModel


def _exactness(settings: CacheSettings) -> str:
    if settings.capacity_blocks is None:
        return "exact: no cache that reuses contiguous prefixes can hit more"
    return "exact for this eviction rule; no engine evicts so"


def _build(settings: CacheSettings) -> CacheModel:
    from kvaudit.replay.caches import make_ideal
    from kvaudit.replay.models.ideal import IdealPolicy

    return make_ideal(
        capacity_blocks=settings.capacity_blocks,
        policy=IdealPolicy(settings.policy),
        small=settings.small,
    )


def _curve(settings: CacheSettings) -> CurveRules:
    # fifo evicts blocks that others continue, and optimal leaves out what a smaller cache holds.
    return CurveRules(rows=ideal_rows, is_stack=settings.policy == "lru")


ENGINE = Engine(
    name="ideal",
    title="Contiguous prefixes without an engine's rules; evicts leaves where it is bounded",
    newest_version=None,
    block_size=1,
    policies=("lru", "fifo", "optimal"),
    clairvoyant_policies=frozenset({"optimal"}),
    schedules=("sequential",),
    eagle=False,
    partial_blocks=True,
    definition="contiguous prefix, the whole prompt may hit, a partial last block is a block",
    exactness=_exactness,
    build=_build,
    curve=_curve,
)
