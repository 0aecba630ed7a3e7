"""The caches of all replicas as one cache, so that a replay need not know of them.

Every replica has a model of its own. It serves the requests that the router sends it, and is
asked what it would have hit of the others': that tells what was computed although another
replica held it, and what a shared pool would have given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.fleet.dispatch import Dispatcher
from kvaudit.replay.fleet.invalidation import EventQueue, Staleness
from kvaudit.replay.fleet.members import Clearing, Looked, MemberGroup, Members
from kvaudit.replay.fleet.plan import FleetPlan, HashSeeds, Sharing
from kvaudit.replay.fleet.sharing import RULES, CommonPrefix, Found, from_pool
from kvaudit.replay.ledger import Column
from kvaudit.replay.outcomes import CacheModel, CacheOutcome, Routed
from kvaudit.replay.tiers import TierLedger


def fleet_of(cache: CacheModel) -> FleetCache | None:
    """Return the replicas that a cache is, with tiers or without; None for one cache alone."""
    first = cache.first if isinstance(cache, TierLedger) else cache
    return first if isinstance(first, FleetCache) else None


class FleetLedger:
    """What the replicas did with every request; tokens unless stated."""

    def __init__(self) -> None:
        """Start empty."""
        self.replicas, self.evicted_blocks = Column(), Column()
        self.local_hits, self.shared_hits = Column(), Column()
        self.elsewhere, self.moved = Column(), Column()
        self.one_cache_hits, self.valid_hits = Column(), Column()


class FleetCache:
    """Replicas behind a router, as a `CacheModel`."""

    def __init__(
        self, plan: FleetPlan, engine: Engine, settings: CacheSettings, *, block_units: int
    ) -> None:
        """Set up empty replicas. Raises `UsageError` for an engine that cannot have any."""
        self.plan = plan
        self.ledger = FleetLedger()
        self.dispatcher = Dispatcher(plan, settings, block_units=block_units)
        self.events = EventQueue(plan.invalidations)
        self.staleness = Staleness(block_units) if plan.invalidations else None
        self._epoch = 0
        self._engine, self._settings = engine, settings
        self._members = self._new_members(settings)
        self._members.grow(plan.instances or 1)
        self._common = CommonPrefix(plan.broadcast_after, block_units)
        self.one_capacity = self._total_capacity()
        self._one = self._build_one()
        # What a broadcast prefix could give at most, by the engine's own rules.
        unbounded = replace(settings, capacity_blocks=None)
        self._unbounded = engine.build(unbounded)
        # One cache without a bound that every event reaches: what may be hit at all.
        self._valid = Members(engine, unbounded)
        self._valid.grow(1)

    @property
    def bounded(self) -> bool:
        """Whether replicas can run full."""
        return self._settings.capacity_blocks is not None

    @property
    def pinned_tokens(self) -> int:
        """Tokens that a broadcast has pinned on every replica."""
        return self._common.tokens

    @property
    def sharing(self) -> str:
        """What replicas have of each other's KV, in a word."""
        return str(self.plan.sharing)

    @property
    def sharing_rule(self) -> str:
        """The same as a clause."""
        return RULES[self.plan.sharing].format(after=self.plan.broadcast_after)

    def _new_members(self, settings: CacheSettings) -> MemberGroup:
        """Return the replicas, of which there are none yet."""
        return Members(self._engine, settings)

    def _total_capacity(self) -> int | None:
        capacity, instances = self._settings.capacity_blocks, self.plan.instances
        return None if capacity is None or instances is None else capacity * instances

    def _build_one(self) -> CacheModel | None:
        """Return one cache of the memory of all; None where that is not bounded or not known."""
        if self.one_capacity is None:
            return None
        return self._engine.build(replace(self._settings, capacity_blocks=self.one_capacity))

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Route and serve the batch's requests."""
        clearings = [Clearing(index, event.reach) for index, event in self.events.cuts(prompts)]
        routes = self.dispatcher.route(prompts, blocks, clearings)
        self._members.grow(self.dispatcher.replicas)
        looked = self._members.serve(prompts, blocks, routes, clearings)
        rows = np.arange(len(routes))
        admitted = looked.admitted[routes, rows]
        found, found_blocks = looked.cached_tokens * admitted, looked.hit_blocks * admitted
        local, local_blocks = self._local(looked, routes)
        shared = self._shared(prompts, blocks, routes, found, found_blocks)
        outcome = CacheOutcome(
            cached_tokens=shared.tokens * admitted,
            hit_blocks=shared.blocks * admitted,
            admitted=admitted > 0,
            evicted_blocks=looked.evicted_blocks[routes, rows],
            held_blocks=looked.held_blocks.sum(axis=0),
            peak_blocks=self._members.peak_blocks,
            routed=Routed(
                names=[self.dispatcher.router.name(n) for n in routes.tolist()],
                replicas=routes,
                local_blocks=local_blocks,
                donors=shared.donors,
            ),
        )
        self._note(prompts, blocks, outcome, found, local, shared.moved_tokens)
        self._follow_events(prompts, blocks, outcome, clearings)
        return outcome

    def _note(
        self,
        prompts: PromptBatch,
        blocks: BlockBatch,
        outcome: CacheOutcome,
        found: NDArray[np.int64],
        local: NDArray[np.int64],
        moved: NDArray[np.int64],
    ) -> None:
        assert outcome.routed is not None
        hits, routes = outcome.cached_tokens, outcome.routed.replicas
        one = hits if self._one is None else self._one.replay(prompts, blocks).cached_tokens
        ledger = self.ledger
        for column, values in (
            (ledger.replicas, routes),
            (ledger.evicted_blocks, outcome.evicted_blocks),
            (ledger.local_hits, local),
            (ledger.shared_hits, hits - local),
            (ledger.elsewhere, np.maximum(found.max(axis=0) - hits, 0)),
            (ledger.moved, moved),
            (ledger.one_cache_hits, one),
        ):
            column.extend(values)

    def _follow_events(
        self,
        prompts: PromptBatch,
        blocks: BlockBatch,
        outcome: CacheOutcome,
        clearings: Sequence[Clearing],
    ) -> None:
        if self.staleness is None:
            return
        epochs = np.full(len(outcome.admitted), self._epoch, np.int64)
        for clearing in clearings:
            epochs[clearing.at :] += 1
        self._epoch += len(clearings)
        self.staleness.follow(prompts, blocks, outcome, epochs)
        reached = [Clearing(clearing.at, None) for clearing in clearings]
        valid = self._valid.serve(prompts, blocks, np.zeros_like(epochs), reached)
        self.ledger.valid_hits.extend(valid.cached_tokens[0])

    def _local(self, looked: Looked, routes: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """Return what each request found on its own replica, in tokens and in blocks."""
        rows = np.arange(len(routes))
        admitted = looked.admitted[routes, rows]
        return (
            looked.cached_tokens[routes, rows] * admitted,
            looked.hit_blocks[routes, rows] * admitted,
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
