"""LMCache: chunks of prompts in CPU memory, on disk and in a remote store.

Read from LMCache 0.5.6, ``lmcache/v1/cache_engine.py``, ``storage_backend/storage_manager.py``,
``storage_backend/local_cpu_backend.py`` and ``integration/vllm/vllm_v1_adapter.py``; the function
is named beside each rule. One request at a time; generated tokens enter with the next turn's
prefill, or in the step that fills their chunk. A request may come with what the engine's own cache
has of it (`kvaudit.replay.connected`); without, it is as if the engine had none.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import NO_KEY, BlockBatch
from kvaudit.replay.models.chunk_places import Chunk, Disk, Place, Remote
from kvaudit.replay.models.chunk_requests import ChunkRequest, ChunkRequests, Visit
from kvaudit.replay.models.chunk_room import FirstFit
from kvaudit.replay.models.tiers import TierState, spare_last_token
from kvaudit.replay.outcomes import CacheOutcome, all_served, check_sizes


class _Held(NamedTuple):
    """Where a chunk of the CPU tier lies, and what stands before it."""

    start: int
    tokens: int
    before: int


class ChunkStore:
    """The tiers of one LMCache; remembers from request to request.

    ``policy`` is lru, fifo, mru or lfu, of CPU tier and disk. Capacities None never evict.
    ``lower_chunks`` are the sizes of disk and remote store, where there are any, and of the remote
    store alone without ``has_disk``; ``keeps_partial`` is ``save_unfull_chunk``, ``saves_decoded``
    ``save_decode_cache``. Grows to about 200 bytes a chunk that is held.
    """

    def __init__(
        self,
        *,
        capacity_chunks: int | None,
        chunk_size: int,
        policy: str,
        keeps_partial: bool = False,
        saves_decoded: bool = False,
        lower_chunks: Sequence[int | None] = (),
        has_disk: bool = True,
        remote: Remote | None = None,
    ) -> None:
        """Start empty, but for a ``remote`` store that others use too: then the last tier."""
        check_sizes(capacity_chunks, chunk_size)
        self.chunk_size = chunk_size
        self.requests = ChunkRequests(
            chunk_size, keeps_partial=keeps_partial, saves_decoded=saves_decoded
        )
        self.capacity_chunks = capacity_chunks
        self.cpu = Place(policy)
        self._room = FirstFit(_times(capacity_chunks, chunk_size))
        self._lying: dict[int, _Held] = {}
        self.lower: list[Disk | Remote] = []
        for number, size in enumerate(lower_chunks):
            if number == 0 and has_disk:
                self.lower.append(Disk(policy, _times(size, chunk_size)))
            else:
                self.lower.append(Remote(size) if remote is None else remote)
        self._lower_chunks = list(lower_chunks)
        self.evicted_keys: list[int] | None = None
        """Where the chunks that are evicted are written down, in order; None writes nothing."""
        self.moved_tokens: NDArray[np.int64] = np.empty((len(self.lower), 0), np.int64)
        """Tokens written to each lower tier, by request of the last batch."""
        self.stalled_requests = 0
        """Requests that found more than CPU memory holds at once."""
        self.peak_chunks = self._evicted = self._written = 0

    @property
    def lower_tiers(self) -> Sequence[TierState]:
        """Return what is to be told of each tier below the CPU's."""
        sizes = zip(self._lower_chunks, self.lower, strict=True)
        return [TierState(chunks, place.peak_chunks) for chunks, place in sizes]

    @property
    def cpu_tier(self) -> TierState:
        """Return what is to be told of CPU memory, where it stands below an engine's cache."""
        return TierState(self.capacity_chunks, self.peak_chunks, self.unreachable_blocks())

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other."""
        return self.replay_some(prompts, blocks, all_served(prompts))

    def replay_some(
        self, prompts: PromptBatch, blocks: BlockBatch, served: NDArray[np.bool_]
    ) -> CacheOutcome:
        """Serve the marked requests one after the other, and only look at the others."""
        requests, tiers = len(served), 1 + len(self.lower)
        hits, tokens = np.zeros((2, tiers, requests), np.int64)
        written = np.zeros((len(self.lower), requests), np.int64)
        evicted, held = np.zeros((2, requests), np.int64)
        asked = self.requests.of(prompts, blocks)
        for i, (request, own) in enumerate(zip(asked, served.tolist(), strict=True)):
            visit = self.serve(request) if own else self.look(request)
            hits[:, i], tokens[:, i], written[:, i] = visit[:3]
            evicted[i], held[i] = visit.evicted, len(self.cpu.held)
        self.moved_tokens = written
        spare_last_token(tokens, prompts.prompt_tokens)
        return CacheOutcome(
            cached_tokens=tokens.sum(axis=0),
            hit_blocks=hits.sum(axis=0),
            admitted=np.ones(requests, np.bool_),
            evicted_blocks=evicted,
            held_blocks=held,
            peak_blocks=self.peak_chunks,
            tier_tokens=tokens if self.lower else None,
        )

    def look(self, request: ChunkRequest) -> Visit:
        """Return what a request would find. Changes nothing."""
        found = self._look_up(request.chunks)
        first, parts = self._to_read(request, found)
        counts = [len(part) for part in parts]
        return Visit(counts, request.tokens_of(first, counts), [0] * len(self.lower), 0, 0, first)

    def serve(self, request: ChunkRequest) -> Visit:
        """Look a request up, read what is found, and store the rest."""
        self._evicted = self._written = 0
        chunks = request.chunks
        found = self._look_up(chunks)
        self._touch(chunks, found)
        first, parts = self._to_read(request, found)
        counts = [len(part) for part in parts]
        if first < sum(found):
            counts = self._read(chunks, first, parts, found[0])
        written = self._store(chunks, first + sum(counts), request.prompt_tokens)
        # wait_for_save: each step of decoding stores the chunk that it fills, if it fills one.
        full = min(len(chunks), request.prompt_tokens // self.chunk_size)
        before = chunks[full - 1].key if full else NO_KEY
        for chunk in request.decoded:
            new = self._put_all([chunk], before)
            written = [one + other for one, other in zip(written, new, strict=True)]
            before = chunk.key
        tokens = request.tokens_of(first, counts)
        return Visit(counts, tokens, written, self._evicted, self._written, first)

    def unreachable_blocks(self) -> int:
        """Return how many chunks of the CPU tier no prompt can reach: one before them went."""
        within_reach = {NO_KEY}
        for chunk in sorted(self._lying):  # a chunk has a greater key than the one before it
            if self._lying[chunk].before in within_reach:
                within_reach.add(chunk)
        return len(self._lying) + 1 - len(within_reach)

    def _look_up(self, chunks: Sequence[Chunk]) -> list[int]:
        """Return how many chunks each tier has, the fastest first. Changes nothing."""
        # batched_contains: the disk is asked for what follows the hit of the CPU tier, up to the
        # first that it has not, and so on. Nothing goes back to a faster tier.
        found: list[int] = []
        for place in (self.cpu, *self.lower):
            found.append(place.leading(chunks[sum(found) :]))
        return found

    def _touch(self, chunks: Sequence[Chunk], found: Sequence[int]) -> None:
        # touch_cache: from the last to the first, so that a prompt's start is the youngest. A
        # remote store is not told.
        for place, part in zip((self.cpu, *self.lower), _cut(chunks, found), strict=True):
            if not isinstance(place, Remote):
                place.touch(reversed(part))

    def _to_read(
        self, request: ChunkRequest, found: Sequence[int]
    ) -> tuple[int, list[Sequence[Chunk]]]:
        """Return the first chunk that is read, and what is read of each tier from there on."""
        hit = request.chunks[: sum(found)]
        hit_tokens = sum(chunk.tokens for chunk in hit)
        own = request.own_tokens
        # get_num_new_matched_tokens: what the engine has not itself, less the last token of a
        # prompt that is held to its end.
        if hit_tokens - own - (hit_tokens == request.prompt_tokens) <= 0:
            return len(hit), [()] * len(found)
        # start_load_kv: from the chunk on in which the engine's own hit ends.
        first = own // self.chunk_size
        coming = hit[first:]
        if sum(n > 0 for n in found) == 1:
            # _process_tokens_internal: what was looked up in one tier is read from there,
            return first, [coming if n else () for n in found]
        # and anything else is looked for again, by get_block_mapping.
        return first, _cut(coming, self._look_up(coming))

    def _read(
        self, chunks: Sequence[Chunk], first: int, parts: Sequence[Sequence[Chunk]], pinned: int
    ) -> list[int]:
        """Put what lower tiers have into CPU memory; return how many of each part fit.

        ``pinned`` chunks of the prompt were found in CPU memory, and stay there meanwhile.
        """
        spared = {chunk.key for chunk in (*chunks[:pinned], *parts[0])}
        read = [len(parts[0])]
        unused: list[tuple[int, int]] = []
        for place, part in zip(self.lower, parts[1:], strict=True):
            before = first + sum(read)
            starts = self._reserve(part, spared)
            came = part[: len(starts)]
            # get_blocking of the disk: from the first to the last this time.
            place.touch(came)
            # What is read is spared, but not an older copy of it that the lookup passed by.
            spared |= {chunk.key for chunk in came if chunk.key not in self.cpu.held}
            unused += self._put(came, starts, before=chunks[before - 1].key if before else NO_KEY)
            read.append(len(came))
            if len(came) < len(part):  # the engine would wait for ever
                self.stalled_requests += 1
                break
        for start, tokens in unused:
            self._room.give(start, tokens)
        return read + [0] * (len(parts) - len(read))

    def _store(self, chunks: Sequence[Chunk], hits: int, prompt_tokens: int) -> list[int]:
        """Store what follows the hit in all tiers; return the tokens each lower one wrote."""
        # ReqMeta.from_request_tracker: after a hit, no less than a full chunk.
        hit_tokens = sum(chunk.tokens for chunk in chunks[:hits])
        if hits and prompt_tokens < (hit_tokens // self.chunk_size + 1) * self.chunk_size:
            return [0] * len(self.lower)
        return self._put_all(chunks[hits:], before=chunks[hits - 1].key if hits else NO_KEY)

    def _put_all(self, coming: Sequence[Chunk], before: int) -> list[int]:
        """Put chunks into all tiers; return the tokens each lower one wrote."""
        # store: room is made for all chunks, one after the other, before the first is put; where
        # nothing is left to evict, the rest is not stored.
        starts = self._reserve(coming, ())
        coming = coming[: len(starts)]
        unused = self._put(coming, starts, before)
        written = [place.put(coming) for place in self.lower]
        for start, tokens in unused:
            self._room.give(start, tokens)
        return written

    def _reserve(self, chunks: Sequence[Chunk], spared: set[int] | tuple[()]) -> list[int]:
        """Make room for chunks, of which the first may be all; return where each will lie."""
        starts: list[int] = []
        for _, tokens in chunks:
            while (start := self._room.take(tokens)) is None:
                oldest = self.cpu.first_out(spared)
                if oldest is None:
                    return starts
                self._evict(oldest)
            starts.append(start)
            self.peak_chunks = max(self.peak_chunks, len(self.cpu.held) + len(starts))
        return starts

    def _put(
        self, chunks: Sequence[Chunk], starts: Sequence[int], before: int
    ) -> list[tuple[int, int]]:
        """Hold the chunks in CPU memory; return the room of those that were held already."""
        # submit_put_task: a chunk that is held stays as it is.
        unused: list[tuple[int, int]] = []
        for (key, tokens), start in zip(chunks, starts, strict=True):
            if key in self.cpu.held:
                unused.append((start, tokens))
            else:
                self.cpu.held[key] = 1
                self._lying[key] = _Held(start, tokens, before)
                self._written += tokens
            before = key
        return unused

    def _evict(self, chunk: int) -> None:
        del self.cpu.held[chunk]
        start, tokens, _ = self._lying.pop(chunk)
        self._room.give(start, tokens)
        self._evicted += 1
        if self.evicted_keys is not None:
            self.evicted_keys.append(chunk)


def _cut(chunks: Sequence[Chunk], counts: Sequence[int]) -> list[Sequence[Chunk]]:
    """Return so many chunks for each tier, one after the other."""
    ends = np.cumsum([0, *counts]).tolist()
    return [chunks[start:end] for start, end in pairwise(ends)]


def _times(chunks: int | None, chunk_size: int) -> int | None:
    return None if chunks is None else chunks * chunk_size
