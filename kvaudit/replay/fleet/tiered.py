"""Replicas with tiers of their own below their caches, and one store that all of them share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.fleet.cache import FleetCache
from kvaudit.replay.fleet.chunk_members import ChunkMembers
from kvaudit.replay.fleet.members import Looked
from kvaudit.replay.fleet.plan import FleetPlan, HashSeeds
from kvaudit.replay.fleet.sharing import Found
from kvaudit.replay.models.chunk_places import Remote
from kvaudit.replay.models.chunks import ChunkStore
from kvaudit.replay.models.tiers import TierState
from kvaudit.replay.outcomes import CacheModel, CacheOutcome

_OWN = "every replica has CPU memory{disk} of its own"
_SHARED = "; all write what they compute to one remote store, and read what they lack from it"


class TieredFleet(FleetCache):
    """LMCache's instances behind a router."""

    def __init__(
        self, plan: FleetPlan, engine: Engine, settings: CacheSettings, *, block_units: int
    ) -> None:
        """Take settings that name the tiers."""
        self._sizes = settings.lower_blocks
        self._has_disk, self._same_keys = settings.has_disk, plan.hash_seeds is HashSeeds.SAME
        self._has_remote = len(self._sizes) > self._has_disk
        super().__init__(plan, engine, settings, block_units=block_units)

    @property
    def sharing(self) -> str:
        """What replicas have of each other's KV, in a word."""
        return "remote" if self._has_remote else "none"

    @property
    def sharing_rule(self) -> str:
        """The same as a clause."""
        own = _OWN.format(disk=" and a disk" if self._has_disk else "")
        return own + (_SHARED if self._has_remote else "")

    @property
    def moved_tokens(self) -> NDArray[np.int64]:
        """Tokens written to each lower tier, by request of the last batch."""
        return self._chunk_members.moved_tokens

    @property
    def lower_tiers(self) -> Sequence[TierState]:
        """Return what is to be told of all disks together, and of the remote store."""
        return self._chunk_members.lower_tiers

    @property
    def stalled_requests(self) -> int:
        """How many requests found more than CPU memory holds at once."""
        return self._chunk_members.stalled_requests

    def unreachable_blocks(self) -> int:
        """Return how many chunks of CPU memory no prompt can reach: one before them went."""
        return self._chunk_members.unreachable_blocks()

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Route and serve the batch's requests."""
        outcome = super().replay(prompts, blocks)
        return replace(outcome, tier_tokens=self._chunk_members.tier_tokens)

    def _new_members(self, settings: CacheSettings) -> ChunkMembers:
        def make(remote: Remote | None) -> ChunkStore:
            return ChunkStore(
                capacity_chunks=settings.capacity_blocks,
                chunk_size=settings.block_size,
                policy=settings.policy,
                keeps_partial=settings.keeps_partial,
                saves_decoded=settings.saves_decoded,
                lower_chunks=settings.lower_blocks,
                has_disk=settings.has_disk,
                remote=remote,
            )

        self._engine.build(settings)  # refuses a release whose tiers are not modelled
        remote = Remote(self._sizes[-1]) if self._has_remote else None
        self._chunk_members = ChunkMembers(make, remote, same_keys=self._same_keys)
        return self._chunk_members

    def _build_one(self) -> CacheModel | None:
        """Return one cache of the memory of all, with the disks of all and the same store."""
        if self.one_capacity is None or self.plan.instances is None:
            return None
        sizes = list(self._sizes)
        if self._has_disk and sizes[0] is not None:
            sizes[0] *= self.plan.instances
        settings = replace(
            self._settings, capacity_blocks=self.one_capacity, lower_blocks=tuple(sizes)
        )
        return self._engine.build(settings)

    def _local(self, looked: Looked, routes: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """Return what each request found in the tiers of its own replica, in tokens and chunks."""
        own = 1 + self._has_disk
        members = self._chunk_members
        return members.tier_tokens[:own].sum(axis=0), members.tier_blocks[:own].sum(axis=0)

    def _shared(
        self,
        prompts: PromptBatch,
        blocks: BlockBatch,
        routes: NDArray[np.int64],
        found: NDArray[np.int64],
        found_blocks: NDArray[np.int64],
    ) -> Found:
        """Return what requests hit; what is not their own replica's came from the store."""
        rows = np.arange(len(routes))
        tokens = found[routes, rows]
        own = self._chunk_members.tier_tokens[: 1 + self._has_disk].sum(axis=0)
        donors = np.full(len(routes), -1) if self._same_keys else routes
        return Found(tokens, found_blocks[routes, rows], tokens - own, donors)
