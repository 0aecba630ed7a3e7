"""LMCache's CPU tier: chunks of prompts in a map, each evicted on its own.

Read from LMCache 0.5.6, ``lmcache/v1/cache_engine.py``, ``storage_backend/local_cpu_backend.py``
and ``storage_backend/cache_policy``; the function is named beside each rule. The tier alone, as
if the engine had no cache of its own, one request at a time; full chunks only; generated tokens
enter with the next turn's prefill.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import NO_KEY, BlockBatch
from kvaudit.replay.outcomes import CacheOutcome, all_served, check_sizes


class ChunkStore:
    """A store of chunks; remembers from request to request.

    ``policy`` is lru, fifo, mru or lfu. ``capacity_chunks`` None never evicts. Grows to about
    100 bytes a chunk that is held.
    """

    def __init__(self, *, capacity_chunks: int | None, chunk_size: int, policy: str) -> None:
        """Start empty."""
        check_sizes(capacity_chunks, chunk_size)
        self.capacity_chunks = capacity_chunks
        self.chunk_size = chunk_size
        self.policy = policy
        self._uses: OrderedDict[int, int] = OrderedDict()  # in the order of the policy
        self._before: dict[int, int] = {}
        self.evicted_keys: list[int] | None = None
        """Where the chunks that are evicted are written down, in order; None writes nothing."""
        self._peak = 0

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other."""
        return self.replay_some(prompts, blocks, all_served(prompts))

    def replay_some(
        self, prompts: PromptBatch, blocks: BlockBatch, served: NDArray[np.bool_]
    ) -> CacheOutcome:
        """Serve the marked requests one after the other, and only look at the others."""
        starts, keys = blocks.key_offsets.tolist(), blocks.keys.tolist()
        found = []
        tokens = prompts.prompt_tokens.tolist()
        for i, own in enumerate(served.tolist()):
            chunks = keys[starts[i] : starts[i] + tokens[i] // self.chunk_size]
            hits = self._lookup(chunks)
            evicted_chunks = 0
            if own:
                self._touch(chunks[:hits])
                evicted_chunks = self._store(chunks[hits:], chunks[hits - 1] if hits else NO_KEY)
            found.append((hits, evicted_chunks, len(self._uses)))
        hit_chunks, evicted, held = np.array(found, np.int64).reshape(-1, 3).T
        cached = hit_chunks * self.chunk_size
        whole = (cached == prompts.prompt_tokens) & (cached > 0)
        return CacheOutcome(
            # A prompt that is held to its end still has its last token computed.
            cached_tokens=cached - whole,
            hit_blocks=hit_chunks,
            admitted=np.ones(len(hit_chunks), np.bool_),
            evicted_blocks=evicted,
            held_blocks=held,
            peak_blocks=self._peak,
        )

    def _lookup(self, chunks: list[int]) -> int:
        """Return how many chunks hit, up to the first that is missing. Changes nothing."""
        return next((n for n, chunk in enumerate(chunks) if chunk not in self._uses), len(chunks))

    def _touch(self, chunks: list[int]) -> None:
        """Count a use of held chunks."""
        # touch_cache: from the last to the first, so that the start of a prompt is the youngest.
        for chunk in reversed(chunks):
            self._uses[chunk] += 1
            if self.policy != "fifo":
                self._uses.move_to_end(chunk)

    def _store(self, chunks: list[int], before: int) -> int:
        """Put the chunks that follow chunk ``before`` into the store; return how many that evicts.

        What stands behind a chunk that was evicted is still held, out of reach.
        """
        # cache_engine.py, store: room is made for all chunks, one after the other, before the
        # first is put; where nothing is left to evict, the rest is not stored.
        evicted = 0
        reserved: list[int] = []
        for chunk in chunks:
            if len(self._uses) + len(reserved) == self.capacity_chunks:
                if not self._uses:
                    break
                self._evict()
                evicted += 1
            reserved.append(chunk)
        self._peak = max(self._peak, len(self._uses) + len(reserved))
        for chunk in reserved:
            # submit_put_task: a chunk that is held stays as it is, and its room is free again.
            if chunk not in self._uses:
                self._uses[chunk] = 1
                self._before[chunk] = before
            before = chunk
        return evicted

    def _evict(self) -> None:
        if self.policy == "lfu":
            # Of those used least, the one that came to that count first.
            chunk = min(self._uses, key=self._uses.__getitem__)
            del self._uses[chunk]
        else:
            chunk, _ = self._uses.popitem(last=self.policy == "mru")
        del self._before[chunk]
        if self.evicted_keys is not None:
            self.evicted_keys.append(chunk)

    def unreachable_blocks(self) -> int:
        """Return how many held chunks no prompt can reach: one before them was evicted."""
        within_reach = {NO_KEY}
        for chunk in sorted(self._uses):  # a chunk has a greater key than the one before it
            if self._before[chunk] in within_reach:
                within_reach.add(chunk)
        return len(self._uses) + 1 - len(within_reach)
