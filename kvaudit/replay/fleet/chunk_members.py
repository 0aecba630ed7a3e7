"""Instances of LMCache: each with CPU memory and a disk of its own, all with one remote store.

Read from LMCache 0.5.6, ``lmcache/v1/storage_backend/storage_manager.py``: an instance writes what
it computes to all of its tiers, the shared one among them; what it reads from there it holds in
its own CPU memory afterwards, and not on its disk (`batched_put`, `batched_get`). The remote store
is not told who asks (``remote_backend.py``). A key has nothing of the instance in it, but its
first hash may be another in every process (``token_database.py``): then none finds what another
one wrote, and all share the room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.fleet.members import Clearing, Looked
from kvaudit.replay.models.chunk_places import Chunk, Remote
from kvaudit.replay.models.chunk_requests import ChunkRequest, Visit
from kvaudit.replay.models.chunks import ChunkStore
from kvaudit.replay.models.tiers import TierState, spare_last_token

_MOST_INSTANCES = 1 << 12
"""More than any fleet has."""


class Above(NamedTuple):
    """What the engines' own caches have of a batch; arrays are (instances, requests)."""

    own_tokens: NDArray[np.int64]
    admitted: NDArray[np.int64]
    """1 or 0."""


class ChunkMembers:
    """LMCache's instances, all alike."""

    def __init__(
        self, make: Callable[[Remote | None], ChunkStore], remote: Remote | None, *, same_keys: bool
    ) -> None:
        """Take how an instance is made, and the store that all have, if they have one.

        Without ``same_keys`` no instance finds what another wrote there.
        """
        self._make, self._remote, self._same_keys = make, remote, same_keys
        self._members: list[ChunkStore] = []
        self.tier_tokens: NDArray[np.int64] = np.empty((0, 0), np.int64)
        """Hit tokens of the last batch's requests where they were served, (tiers, requests)."""
        self.tier_blocks: NDArray[np.int64] = np.empty((0, 0), np.int64)
        """The same in chunks."""
        self.moved_tokens: NDArray[np.int64] = np.empty((0, 0), np.int64)
        """Tokens written to each tier, CPU memory too, (tiers, requests)."""

    @property
    def peak_blocks(self) -> int:
        """The sum of the instances' own peaks in CPU memory."""
        return sum(member.peak_chunks for member in self._members)

    @property
    def stalled_requests(self) -> int:
        """How many requests found more than CPU memory holds at once."""
        return sum(member.stalled_requests for member in self._members)

    @property
    def first(self) -> ChunkStore:
        """The first instance; all are alike."""
        return self._members[0]

    @property
    def cpu_tier(self) -> TierState:
        """Return what is to be told of all CPU memory together."""
        size = self.first.capacity_chunks
        total = None if size is None else size * len(self._members)
        return TierState(total, self.peak_blocks, self.unreachable_blocks())

    @property
    def lower_tiers(self) -> Sequence[TierState]:
        """Return what is to be told of all disks together, and of the remote store."""
        tiers = []
        for places in zip(*(member.lower_tiers for member in self._members), strict=True):
            sizes = [place.capacity_blocks for place in places if place.capacity_blocks is not None]
            peaks = sum(place.peak_blocks for place in places)
            tiers.append(TierState(sum(sizes) if sizes else None, peaks))
        if self._remote is not None:
            tiers[-1] = self._members[0].lower_tiers[-1]
        return tiers

    def local_blocks(self, own_tiers: int) -> NDArray[np.int64]:
        """Return the chunks of each request that its own instance had, in its first tiers."""
        counts: NDArray[np.int64] = self.tier_blocks[:own_tiers].sum(axis=0)
        return counts

    def unreachable_blocks(self) -> int:
        """Return how many chunks of CPU memory no prompt can reach."""
        return sum(member.unreachable_blocks() for member in self._members)

    def grow(self, replicas: int) -> None:
        """Add empty instances until there are so many."""
        while len(self._members) < replicas:
            self._members.append(self._make(self._remote))

    def serve(
        self,
        prompts: PromptBatch,
        blocks: BlockBatch,
        routes: NDArray[np.int64],
        clearings: Sequence[Clearing] = (),
    ) -> Looked:
        """Serve each request on the instance of its route, and ask all others of it before."""
        assert not clearings
        shape = len(self._members), len(routes)
        own, admitted = np.zeros(shape, np.int64), np.ones(shape, np.int64)
        return self.serve_below(prompts, blocks, routes, Above(own, admitted))

    def serve_below(
        self, prompts: PromptBatch, chunks: BlockBatch, routes: NDArray[np.int64], above: Above
    ) -> Looked:
        """Do the same with what the instances' own engines have of each request."""
        members, requests = len(self._members), len(routes)
        tiers = 1 + len(self._members[0].lower)
        tokens = np.zeros((members, tiers, requests), np.int64)
        counts, evicted, held = np.zeros((3, members, requests), np.int64)
        self.tier_blocks = np.zeros((tiers, requests), np.int64)
        self.moved_tokens = np.zeros((tiers, requests), np.int64)
        # One instance cuts the requests for all, so that chunks of unknown text are its own.
        asked = self._members[0].requests.of(prompts, chunks)
        for i, (request, route) in enumerate(zip(asked, routes.tolist(), strict=True)):
            if not above.admitted[route, i]:
                continue
            visits = self._visit(request, route, above.own_tokens[:, i].tolist())
            own = visits[route]
            self.tier_blocks[:, i] = own.hit_chunks
            self.moved_tokens[:, i] = own.cpu_tokens, *own.written_tokens
            for n, visit in enumerate(visits):
                tokens[n, :, i] = visit.hit_tokens
                counts[n, i], evicted[n, i] = sum(visit.hit_chunks), visit.evicted
                held[n, i] = len(self._members[n].cpu.held)
        for each, own_tokens in zip(tokens, above.own_tokens, strict=True):
            all_tiers = np.vstack([own_tokens, each])
            spare_last_token(all_tiers, prompts.prompt_tokens)
            each[:] = all_tiers[1:]
        self.tier_tokens = tokens[routes, :, np.arange(requests)].T
        return Looked(tokens.sum(axis=1), counts, above.admitted, evicted, held)

    def _visit(self, request: ChunkRequest, route: int, own_tokens: Sequence[int]) -> list[Visit]:
        asked = [
            self._of_instance(request._replace(own_tokens=own), n)
            for n, own in enumerate(own_tokens)
        ]
        visits = [
            member.look(one) if n != route else None
            for n, (member, one) in enumerate(zip(self._members, asked, strict=True))
        ]
        served = self._members[route].serve(asked[route])
        return [served if visit is None else visit for visit in visits]

    def _of_instance(self, request: ChunkRequest, instance: int) -> ChunkRequest:
        """Return the request under the keys of one instance."""
        if self._same_keys:
            return request

        def own(chunks: Sequence[Chunk]) -> list[Chunk]:
            return [Chunk(key * _MOST_INSTANCES + instance, tokens) for key, tokens in chunks]

        return request._replace(chunks=own(request.chunks), decoded=own(request.decoded))
