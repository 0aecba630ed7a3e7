"""LMCache's CPU tier, compiled; `kvaudit.replay.models.chunks` is what it must equal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import NO_KEY, BlockBatch
from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.kernels.eviction_queue import (
    NOBODY,
    Queue,
    empty_queue,
    offer,
    take,
    with_room,
)
from kvaudit.replay.kernels.growth import grown
from kvaudit.replay.outcomes import CacheOutcome, all_served, check_sizes

_UNBOUNDED = 1 << 60
_HELD, _CLOCK, _PEAK = range(3)
_LRU, _LFU, _FIFO, _MRU, _NONE = range(5)
_POLICIES = {"lru": _LRU, "lfu": _LFU, "fifo": _FIFO, "mru": _MRU}


class _Store(NamedTuple):
    """State of the store, by key unless stated."""

    totals: NDArray[np.int64]
    """Held chunks, visits, the most chunks held or about to be."""
    uses: NDArray[np.int64]
    """0 for a chunk that is not held."""
    touched: NDArray[np.int64]
    before: NDArray[np.int32]
    """The chunk before it when it was stored."""
    queue: Queue


class _Work(NamedTuple):
    """What is asked, by request."""

    keys: NDArray[np.int32]
    starts: NDArray[np.int64]
    chunks: NDArray[np.int64]
    served: NDArray[np.bool_]


class CompiledChunkStore:
    """`ChunkStore` for large logs. Grows to 20 bytes a distinct chunk of the log."""

    def __init__(self, *, capacity_chunks: int | None, chunk_size: int, policy: str) -> None:
        """Take what the reference takes."""
        check_sizes(capacity_chunks, chunk_size)
        self.chunk_size = chunk_size
        self._capacity = _UNBOUNDED if capacity_chunks is None else capacity_chunks
        self._policy = _NONE if capacity_chunks is None else _POLICIES[policy]
        self._store = _Store(
            totals=np.zeros(3, np.int64),
            uses=np.empty(0, np.int64),
            touched=np.empty(0, np.int64),
            before=np.empty(0, np.int32),
            queue=empty_queue(),
        )

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other."""
        return self.replay_some(prompts, blocks, all_served(prompts))

    def replay_some(
        self, prompts: PromptBatch, blocks: BlockBatch, served: NDArray[np.bool_]
    ) -> CacheOutcome:
        """Serve the marked requests one after the other, and only look at the others."""
        chunks = np.minimum(prompts.prompt_tokens // self.chunk_size, np.diff(blocks.key_offsets))
        keys = int(blocks.keys.max(initial=-1)) + 1
        # Each chunk of a request is touched or put once, and a put may name the one evicted again.
        offers = 2 * int(chunks.sum())
        store = self._store
        self._store = store._replace(
            uses=grown(store.uses, keys, fill=0),
            touched=grown(store.touched, keys),
            before=grown(store.before, keys),
            queue=with_room(store.queue, keys, offers),
        )
        work = _Work(blocks.keys, blocks.key_offsets, chunks, served)
        answer = np.zeros((3, len(served)), np.int64)
        _serve_all(self._store, work, self._capacity, self._policy, answer)
        hit_chunks, evicted, held = answer
        cached = hit_chunks * self.chunk_size
        whole = (cached == prompts.prompt_tokens) & (cached > 0)
        return CacheOutcome(
            cached_tokens=cached - whole,
            hit_blocks=hit_chunks,
            admitted=np.ones(len(served), np.bool_),
            evicted_blocks=evicted,
            held_blocks=held,
            peak_blocks=int(self._store.totals[_PEAK]),
        )

    def unreachable_blocks(self) -> int:
        """Return how many held chunks no prompt can reach: one before them was evicted."""
        return int(_unreachable(self._store.uses, self._store.before))


@compiled
def _serve_all(
    store: _Store, work: _Work, capacity: int, policy: int, answer: NDArray[np.int64]
) -> None:
    # Arrays handed to a helper are counted references, so what happens to each chunk stands here.
    totals, uses, touched = store.totals, store.uses, store.touched
    moves = policy not in (_FIFO, _NONE)
    for request in range(len(work.chunks)):
        start = work.starts[request]
        keys = work.keys[start : start + work.chunks[request]]
        hits = 0
        while hits < len(keys) and uses[keys[hits]] > 0:
            hits += 1
        answer[0, request] = hits
        if work.served[request]:
            for index in range(hits - 1, -1, -1):
                key = keys[index]
                uses[key] += 1
                if moves:
                    totals[_CLOCK] += 1
                    touched[key] = totals[_CLOCK]
                if policy == _MRU:  # the only one whose rank falls with use
                    offer(store.queue, int(key), 0, -totals[_CLOCK])
            answer[1, request] = _put(store, keys, hits, capacity, policy)
        answer[2, request] = store.totals[_HELD]


@compiled
def _put(store: _Store, keys: NDArray[np.int32], hits: int, capacity: int, policy: int) -> int:
    """Store the chunks after the hit; return how many that evicts."""
    totals, uses = store.totals, store.uses
    evicted = 0
    reserved = 0
    while hits + reserved < len(keys):
        if totals[_HELD] + reserved == capacity:
            if totals[_HELD] == 0:
                break
            _evict(store, policy)
            evicted += 1
        reserved += 1
    totals[_PEAK] = max(totals[_PEAK], totals[_HELD] + reserved)
    for index in range(hits, hits + reserved):
        key = int(keys[index])
        if uses[key] == 0:
            uses[key] = 1
            totals[_HELD] += 1
            store.before[key] = keys[index - 1] if index > 0 else NO_KEY
            totals[_CLOCK] += 1
            store.touched[key] = totals[_CLOCK]
            if policy != _NONE:
                first, second = _rank(store, key, policy)
                offer(store.queue, key, first, second)
    return evicted


@compiled
def _evict(store: _Store, policy: int) -> None:
    while True:
        key, first, second = take(store.queue)
        if key == NOBODY or store.uses[key] == 0:
            continue
        now_first, now_second = _rank(store, key, policy)
        if now_first == first and now_second == second:
            break
        offer(store.queue, key, now_first, now_second)
    store.uses[key] = 0
    store.totals[_HELD] -= 1


@compiled
def _rank(store: _Store, key: int, policy: int) -> tuple[int, int]:
    if policy == _LFU:
        return store.uses[key], store.touched[key]
    if policy == _MRU:
        return 0, -store.touched[key]
    return 0, store.touched[key]


@compiled
def _unreachable(uses: NDArray[np.int64], before: NDArray[np.int32]) -> int:
    """Return how many held chunks no prompt can reach; a chunk's key exceeds the one before's."""
    within_reach = np.zeros(len(uses), np.bool_)
    count = 0
    for key in range(len(uses)):
        if uses[key] > 0:
            within_reach[key] = before[key] == NO_KEY or within_reach[before[key]]
            count += not within_reach[key]
    return count
