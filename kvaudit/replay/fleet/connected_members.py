"""Instances of vLLM, each with an LMCache of its own below it, all with one remote store.

What vLLM hits does not depend on what stands below it (`kvaudit.replay.connected`), so that its
part of a batch is served first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch, Interner
from kvaudit.replay.connected import chunk_interner
from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.fleet.chunk_members import Above, ChunkMembers
from kvaudit.replay.fleet.members import Clearing, Looked, Members
from kvaudit.replay.models.tiers import TierState


class ConnectedMembers:
    """vLLM's instances, all alike."""

    def __init__(self, engine: Engine, settings: CacheSettings, stores: ChunkMembers) -> None:
        """Take vLLM's settings, and what stands below."""
        self._engines, self._stores = Members(engine, settings), stores
        self._block_size, self._small = settings.block_size, settings.small
        self._interner: Interner | None = None
        self.tier_tokens: NDArray[np.int64] = np.empty((0, 0), np.int64)
        """Hit tokens of the last batch's requests where they were served, (tiers, requests)."""

    @property
    def peak_blocks(self) -> int:
        """The sum of the instances' own peaks in vLLM's cache."""
        return self._engines.peak_blocks

    @property
    def stalled_requests(self) -> int:
        """How many requests found more than CPU memory holds at once."""
        return self._stores.stalled_requests

    @property
    def moved_tokens(self) -> NDArray[np.int64]:
        """Tokens written to each tier below vLLM, (tiers, requests)."""
        return self._stores.moved_tokens

    @property
    def lower_tiers(self) -> Sequence[TierState]:
        """Return what is to be told of CPU memory, of all disks, and of the remote store."""
        return [self._stores.cpu_tier, *self._stores.lower_tiers]

    def unreachable_blocks(self) -> None:
        """Say that vLLM strands none: it evicts the end of a prompt first."""

    def grow(self, replicas: int) -> None:
        """Add empty instances until there are so many."""
        self._engines.grow(replicas)
        self._stores.grow(replicas)

    def local_blocks(self, own_tiers: int) -> NDArray[np.int64]:
        """Return the blocks of each request that its own instance had, in its first tiers."""
        tokens: NDArray[np.int64] = self.tier_tokens[:own_tiers].sum(axis=0)
        return -(-tokens // self._block_size)

    def serve(
        self,
        prompts: PromptBatch,
        blocks: BlockBatch,
        routes: NDArray[np.int64],
        clearings: Sequence[Clearing] = (),
    ) -> Looked:
        """Serve each request on the instance of its route, and ask all others of it."""
        own = self._engines.serve(prompts, blocks, routes, clearings)
        if self._interner is None:
            self._interner = chunk_interner(
                self._stores.first, blocks, block_size=self._block_size, small=self._small
            )
        chunks = self._interner.intern(prompts)
        above = Above(own.cached_tokens, own.admitted)
        below = self._stores.serve_below(prompts, chunks, routes, above)
        tokens = own.cached_tokens + below.cached_tokens
        mine = own.cached_tokens[routes, np.arange(len(routes))]
        self.tier_tokens = np.vstack([mine, self._stores.tier_tokens])
        return own._replace(cached_tokens=tokens, hit_blocks=-(-tokens // self._block_size))
