"""The caches of all replicas as one cache, so that a replay need not know of them.

Every replica has a model of its own. It serves the requests that the router sends it, and is
asked what it would have hit of the others': that tells what was computed although another
replica held it, and what a shared pool would have given.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.errors import UsageError
from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.fleet.dispatch import Dispatcher
from kvaudit.replay.fleet.plan import FleetPlan, HashSeeds, Sharing
from kvaudit.replay.fleet.sharing import CommonPrefix, Found, from_pool
from kvaudit.replay.ledger import Column
from kvaudit.replay.outcomes import CacheModel, CacheOutcome, Replica, Routed

_NEVER_FULL = 2**31 - 1
"""Blocks of an ideal replica without a bound."""


class FleetLedger:
    """What the replicas did with every request; tokens unless stated."""

    def __init__(self) -> None:
        """Start empty."""
        self.replicas, self.evicted_blocks = Column(), Column()
        self.local_hits, self.shared_hits = Column(), Column()
        self.elsewhere, self.moved = Column(), Column()
        self.one_cache_hits = Column()


class FleetCache:
    """Replicas behind a router, as a `CacheModel`."""

    def __init__(
        self, plan: FleetPlan, engine: Engine, settings: CacheSettings, *, block_units: int
    ) -> None:
        """Set up empty replicas. Raises `UsageError` for an engine that cannot have any."""
        self.plan = plan
        self.ledger = FleetLedger()
        self.dispatcher = Dispatcher(plan, settings, block_units=block_units)
        self._engine, self._settings = engine, settings
        self._members: list[Replica] = []
        self._peaks: list[int] = []
        self._common = CommonPrefix(plan.broadcast_after, block_units)
        self.one_capacity = self._total_capacity()
        self._one = self._build_one()
        # What a broadcast prefix could give at most, by the engine's own rules.
        self._unbounded = engine.build(replace(settings, capacity_blocks=None))
        self._grow(plan.instances or 1)

    @property
    def bounded(self) -> bool:
        """Whether replicas can run full."""
        return self._settings.capacity_blocks is not None

    def _total_capacity(self) -> int | None:
        capacity, instances = self._settings.capacity_blocks, self.plan.instances
        return None if capacity is None or instances is None else capacity * instances

    def _build_one(self) -> CacheModel | None:
        """Return one cache of the memory of all; None where that is not bounded or not known."""
        if self.one_capacity is None:
            return None
        return self._engine.build(replace(self._settings, capacity_blocks=self.one_capacity))

    def _grow(self, replicas: int) -> None:
        while len(self._members) < replicas:
            self._members.append(self._new_member())
            self._peaks.append(0)

    def _new_member(self) -> Replica:
        settings = self._settings
        if self._engine.name == "ideal" and settings.capacity_blocks is None:
            # Without a bound it only knows what any request of the log brought.
            settings = replace(settings, capacity_blocks=_NEVER_FULL, policy="lru")
        member = self._engine.build(settings)
        if not isinstance(member, Replica):
            raise UsageError(
                f"--instances: --engine {self._engine.name} with --policy {settings.policy} is "
                "modelled as one cache for the whole log; choose another policy or engine"
            )
        return member

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Route and serve the batch's requests."""
        routes = self.dispatcher.route(prompts, blocks)
        self._grow(self.dispatcher.replicas)
        outcomes = []
        for n, member in enumerate(self._members):
            outcomes.append(member.replay_some(prompts, blocks, routes == n))
            self._peaks[n] = max(self._peaks[n], outcomes[n].peak_blocks)
        rows = np.arange(len(routes))
        evicted = np.stack([o.evicted_blocks for o in outcomes])[routes, rows]
        admitted = np.stack([o.admitted for o in outcomes])[routes, rows]
        found = np.stack([o.cached_tokens for o in outcomes]) * admitted
        found_blocks = np.stack([o.hit_blocks for o in outcomes]) * admitted
        local = found[routes, rows]
        shared = self._shared(prompts, blocks, routes, found, found_blocks)
        hits = shared.tokens * admitted
        elsewhere = np.maximum(found.max(axis=0) - hits, 0)
        one = hits if self._one is None else self._one.replay(prompts, blocks).cached_tokens
        ledger = self.ledger
        for column, values in (
            (ledger.replicas, routes),
            (ledger.evicted_blocks, evicted),
            (ledger.local_hits, local),
            (ledger.shared_hits, hits - local),
            (ledger.elsewhere, elsewhere),
            (ledger.moved, shared.moved_tokens),
            (ledger.one_cache_hits, one),
        ):
            column.extend(values)
        return CacheOutcome(
            cached_tokens=hits,
            hit_blocks=shared.blocks * admitted,
            admitted=admitted,
            evicted_blocks=evicted,
            held_blocks=np.sum([o.held_blocks for o in outcomes], axis=0),
            peak_blocks=sum(self._peaks),
            routed=Routed(
                names=[self.dispatcher.router.name(n) for n in routes.tolist()],
                replicas=routes,
                local_blocks=found_blocks[routes, rows],
                donors=shared.donors,
            ),
        )

    def _shared(
        self,
        prompts: PromptBatch,
        blocks: BlockBatch,
        routes: NDArray[np.int64],
        found: NDArray[np.int64],
        found_blocks: NDArray[np.int64],
    ) -> Found:
        """Return what requests hit; ``found`` and its blocks are (replicas, requests)."""
        rows = np.arange(len(routes))
        local, local_blocks = found[routes, rows], found_blocks[routes, rows]
        same = self.plan.hash_seeds is HashSeeds.SAME
        if same and self.plan.sharing is Sharing.POOL:
            return from_pool(local, found, found_blocks)
        if same and self.plan.sharing is Sharing.BROADCAST:
            common, moved = self._common.replay(prompts, blocks, routes, found)
            most = self._unbounded.replay(prompts, blocks)
            sent = np.minimum(common, most.cached_tokens)
            sizes = prompts.unit_tokens * blocks.block_units
            hit_blocks = np.where(sent > local, -(-sent // sizes), local_blocks)
            return Found(np.maximum(local, sent), hit_blocks, moved, np.full(len(routes), -1))
        return Found(local, local_blocks, np.zeros_like(local), routes)
