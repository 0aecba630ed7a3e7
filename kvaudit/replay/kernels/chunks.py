"""LMCache's tiers, compiled; `kvaudit.replay.models.chunks` is what they must equal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import NO_KEY, BlockBatch
from kvaudit.replay.kernels.chunk_places import PEAK, empty_place, with_keys
from kvaudit.replay.kernels.chunk_requests import Answer, Store, Work, serve_all, unreachable
from kvaudit.replay.kernels.chunk_room import empty_room, with_gaps
from kvaudit.replay.kernels.growth import grown
from kvaudit.replay.models.tiers import TierState, spare_last_token
from kvaudit.replay.outcomes import CacheOutcome, all_served, check_sizes

_UNBOUNDED = 1 << 60
_TIERS = 3


class CompiledChunkStore:
    """`ChunkStore` for large logs. Grows to 50 bytes a distinct chunk of the log and tier."""

    def __init__(
        self,
        *,
        capacity_chunks: int | None,
        chunk_size: int,
        policy: str,
        keeps_partial: bool = False,
        lower_chunks: Sequence[int | None] = (),
        has_disk: bool = True,
    ) -> None:
        """Take what the reference takes, but for chunks that decoding fills."""
        check_sizes(capacity_chunks, chunk_size)
        self.chunk_size = chunk_size
        self.keeps_partial = keeps_partial
        self._lower_chunks = list(lower_chunks)
        self._limits = np.full(2, -1, np.int64)
        self._lower = range(2)[not has_disk :][: len(lower_chunks)]
        """Which of disk and remote store there are."""
        for number, size in zip(self._lower, lower_chunks, strict=True):
            unit = 1 if number else chunk_size
            self._limits[number] = _UNBOUNDED if size is None else size * unit
        tokens = None if capacity_chunks is None else capacity_chunks * chunk_size
        self._store = Store(
            places=(empty_place(policy), empty_place(policy), empty_place("lru")),
            room=empty_room(tokens),
            start=np.empty(0, np.int64),
            before=np.empty(0, np.int32),
            spared=np.empty(0, np.bool_),
            due=np.empty(0, np.bool_),
            peak=np.zeros(1, np.int64),
            stalled=np.zeros(1, np.int64),
        )
        self.moved_tokens: NDArray[np.int64] = np.empty((len(self._lower_chunks), 0), np.int64)

    @property
    def stalled_requests(self) -> int:
        """Return how many requests found more than CPU memory holds at once."""
        return int(self._store.stalled[0])

    @property
    def lower_tiers(self) -> Sequence[TierState]:
        """Return what is to be told of each tier below the CPU's."""
        return [
            TierState(chunks, int(self._store.places[1 + number].totals[PEAK]))
            for chunks, number in zip(self._lower_chunks, self._lower, strict=True)
        ]

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other."""
        return self.replay_some(prompts, blocks, all_served(prompts))

    def replay_some(
        self, prompts: PromptBatch, blocks: BlockBatch, served: NDArray[np.bool_]
    ) -> CacheOutcome:
        """Serve the marked requests one after the other, and only look at the others."""
        requests = len(served)
        keys, starts = self._chunks(prompts, blocks)
        self._grow(int(keys.max(initial=-1)) + 1, len(keys))
        longest = int(np.diff(starts).max(initial=0))
        work = Work(
            *(keys, starts, prompts.prompt_tokens, served, self.chunk_size, self._limits),
            scratch=np.empty(longest, np.int64),
        )
        answer = Answer(
            np.zeros((requests, _TIERS), np.int64),
            np.zeros((requests, 2), np.int64),
            np.zeros(requests, np.int64),
            np.zeros(requests, np.int64),
        )
        serve_all(self._store, work, answer)
        hits = answer.chunks.T[[0, *(1 + number for number in self._lower)]]
        tokens = np.diff(
            np.minimum(np.cumsum(hits, axis=0) * self.chunk_size, prompts.prompt_tokens),
            axis=0,
            prepend=0,
        )
        spare_last_token(tokens, prompts.prompt_tokens)
        self.moved_tokens = answer.written.T[list(self._lower)]
        return CacheOutcome(
            cached_tokens=tokens.sum(axis=0),
            hit_blocks=hits.sum(axis=0),
            admitted=np.ones(requests, np.bool_),
            evicted_blocks=answer.evicted,
            held_blocks=answer.held,
            peak_blocks=int(self._store.peak[0]),
            tier_tokens=tokens if self._lower_chunks else None,
        )

    def unreachable_blocks(self) -> int:
        """Return how many chunks of the CPU tier no prompt can reach: one before them went."""
        return int(unreachable(self._store.places[0].uses, self._store.before))

    def _chunks(
        self, prompts: PromptBatch, blocks: BlockBatch
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the keys of all chunks that are looked up, and where each request's begin."""
        full = np.minimum(prompts.prompt_tokens // self.chunk_size, np.diff(blocks.key_offsets))
        lengths = full
        tails = blocks.prompt_tails if self.keeps_partial else None
        if tails is not None:
            lengths = full + (tails != NO_KEY)
        starts = np.zeros(len(full) + 1, np.int64)
        np.cumsum(lengths, out=starts[1:])
        place = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
        source = np.repeat(blocks.key_offsets[:-1], lengths) + place
        is_tail = place == np.repeat(full, lengths)
        keys = np.empty(starts[-1], np.int32)
        keys[~is_tail] = blocks.keys[source[~is_tail]]
        if tails is not None:
            keys[is_tail] = tails[tails != NO_KEY]
        return keys, starts

    def _grow(self, keys: int, chunks: int) -> None:
        store = self._store
        cpu, disk, remote = (
            with_keys(place, keys if used else 0, chunks if used else 0)
            for place, used in zip(store.places, (True, *(self._limits >= 0)), strict=True)
        )
        self._store = store._replace(
            places=(cpu, disk, remote),
            room=with_gaps(store.room, keys + chunks),
            start=grown(store.start, keys),
            before=grown(store.before, keys),
            spared=grown(store.spared, keys, fill=0),
            due=grown(store.due, keys, fill=0),
        )
