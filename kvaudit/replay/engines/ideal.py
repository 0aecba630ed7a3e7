"""The ideal cache: every prefix it holds can be reused to the last unit, whole prompts too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.outcomes import CacheModel, CacheOutcome


class Clairvoyant(Protocol):
    """A cache that answers once it has seen the whole log."""

    def learn(self, prompts: PromptBatch, blocks: BlockBatch) -> None:
        """Take the next batch of the log."""

    def outcomes(self) -> Iterator[CacheOutcome]:
        """Serve all requests; yield an outcome for each batch."""
        ...


class _WholeLog:
    """A clairvoyant cache given the log as one batch, which is how a replay calls it."""

    def __init__(self, cache: Clairvoyant) -> None:
        self._cache = cache

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        self._cache.learn(prompts, blocks)
        return next(self._cache.outcomes())


def _exactness(settings: CacheSettings) -> str:
    if settings.capacity_blocks is None:
        return "exact: no cache that reuses contiguous prefixes can hit more"
    return "exact for this eviction rule; no engine evicts so"


def _build(settings: CacheSettings) -> CacheModel:
    from kvaudit.replay.models.ideal import IdealCache, IdealPolicy, OptimalCache, UnboundedIdeal

    if settings.capacity_blocks is None:
        return UnboundedIdeal()
    policy = IdealPolicy(settings.policy)
    bounded: Callable[..., CacheModel] = IdealCache
    optimal: Callable[..., Clairvoyant] = OptimalCache
    if not settings.small:
        from kvaudit.replay.kernels.ideal import CompiledIdealCache, CompiledOptimalCache

        bounded, optimal = CompiledIdealCache, CompiledOptimalCache
    if policy is IdealPolicy.OPTIMAL:
        return _WholeLog(optimal(capacity_blocks=settings.capacity_blocks))
    return bounded(capacity_blocks=settings.capacity_blocks, policy=policy)


ENGINE = Engine(
    name="ideal",
    title="Contiguous prefixes without an engine's rules; evicts leaves where it is bounded",
    newest_version=None,
    block_size=1,
    policies=("lru", "fifo", "optimal"),
    clairvoyant_policies=frozenset({"optimal"}),
    eagle=False,
    partial_blocks=True,
    definition="contiguous prefix, the whole prompt may hit, a partial last block is a block",
    exactness=_exactness,
    build=_build,
)
