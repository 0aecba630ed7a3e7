"""Replicas with tiers of their own below their caches, and one store that all of them share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.fleet.cache import FleetCache
from kvaudit.replay.fleet.members import Looked, MemberGroup
from kvaudit.replay.fleet.plan import FleetPlan, HashSeeds
from kvaudit.replay.fleet.sharing import Found
from kvaudit.replay.models.tiers import TierState
from kvaudit.replay.outcomes import CacheModel, CacheOutcome

_SHARED = "; all write what they compute to one remote store, and read what they lack from it"


class TieredMembers(MemberGroup, Protocol):
    """Replicas that tell their tiers apart."""

    @property
    def tier_tokens(self) -> NDArray[np.int64]:
        """Hit tokens of the last batch's requests where they were served, (tiers, requests)."""
        ...

    @property
    def moved_tokens(self) -> NDArray[np.int64]:
        """Tokens written to tiers, the last ones of all, (tiers, requests)."""
        ...

    @property
    def stalled_requests(self) -> int:
        """How many requests found more than CPU memory holds at once."""
        ...

    @property
    def lower_tiers(self) -> Sequence[TierState]:
        """Return what is to be told of each tier below the first, of all replicas together."""
        ...

    def unreachable_blocks(self) -> int | None:
        """Return how many blocks of the first tier no prompt can reach; None for none ever."""
        ...

    def local_blocks(self, own_tiers: int) -> NDArray[np.int64]:
        """Return the blocks of each request that its own replica had, in its first tiers."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetTiers:
    """The replicas' tiers."""

    members: TieredMembers
    """Empty as yet: the fleet says how many there are."""
    one: CacheModel | None
    """One cache of the memory of all, with the disks of all and the same store."""
    own: Sequence[str]
    """Names of the tiers that each replica has for itself."""
    has_remote: bool


class TieredFleet(FleetCache):
    """Replicas with tiers behind a router."""

    def __init__(
        self,
        plan: FleetPlan,
        engine: Engine,
        settings: CacheSettings,
        tiers: FleetTiers,
        *,
        block_units: int,
    ) -> None:
        """Take settings of the first tier alone, and the tiers."""
        self._tiers = tiers
        super().__init__(plan, engine, settings, block_units=block_units)

    @property
    def sharing(self) -> str:
        """What replicas have of each other's KV, in a word."""
        return "remote" if self._tiers.has_remote else "none"

    @property
    def sharing_rule(self) -> str:
        """The same as a clause."""
        *first, last = self._tiers.own
        own = f"{', '.join(first)} and {last}" if first else last
        return f"every replica has {own} of its own" + _SHARED * self._tiers.has_remote

    @property
    def moved_tokens(self) -> NDArray[np.int64]:
        """Tokens written to each lower tier, by request of the last batch."""
        return self._tiers.members.moved_tokens[-len(self.lower_tiers) :]

    @property
    def lower_tiers(self) -> Sequence[TierState]:
        """Return what is to be told of each tier below the first, of all replicas together."""
        return self._tiers.members.lower_tiers

    @property
    def stalled_requests(self) -> int:
        """How many requests found more than CPU memory holds at once."""
        return self._tiers.members.stalled_requests

    def unreachable_blocks(self) -> int | None:
        """Return how many blocks of the first tier no prompt can reach: one before them went."""
        return self._tiers.members.unreachable_blocks()

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Route and serve the batch's requests."""
        outcome = super().replay(prompts, blocks)
        return replace(outcome, tier_tokens=self._tiers.members.tier_tokens)

    def _new_members(self, settings: CacheSettings) -> MemberGroup:
        return self._tiers.members

    def _build_one(self) -> CacheModel | None:
        return self._tiers.one

    def _local(self, looked: Looked, routes: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """Return what each request found in the tiers of its own replica, in tokens and blocks."""
        own, members = len(self._tiers.own), self._tiers.members
        return members.tier_tokens[:own].sum(axis=0), members.local_blocks(own)

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
        own = self._tiers.members.tier_tokens[: len(self._tiers.own)].sum(axis=0)
        tokens = found[routes, rows]
        same_keys = self.plan.hash_seeds is HashSeeds.SAME
        donors = np.full(len(routes), -1) if same_keys else routes
        return Found(tokens, found_blocks[routes, rows], tokens - own, donors)
