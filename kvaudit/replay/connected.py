"""vLLM with LMCache below its own prefix cache, as its in-process connector joins them.

Read from LMCache 0.5.6, ``lmcache/integration/vllm/vllm_v1_adapter.py``, and vLLM at 003df29,
``vllm/v1/core/kv_cache_manager.py`` ``allocate_slots``: LMCache looks all of a prompt's chunks up
whatever vLLM has of it, reads from the chunk on in which vLLM's own hit ends, and stores what
follows its own hit, so that a chunk which it lost and vLLM has is stored once more. vLLM takes the
same blocks for tokens that are read as for those that it computes, so that its own hits are what
they are without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy

import numpy as np

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch, Interner
from kvaudit.replay.caches import make_interner
from kvaudit.replay.ledger import Column
from kvaudit.replay.models.chunks import ChunkStore
from kvaudit.replay.models.tiers import TierState, spare_last_token
from kvaudit.replay.outcomes import CacheModel, CacheOutcome
from kvaudit.replay.tiers import TierLedger, TierRules
from kvaudit.replay.unkeyed_store import UnkeyedStore, has_several

MODELLED = "0.5.6"
"""The LMCache whose connector was read and run."""


class ConnectedStore(TierLedger):
    """vLLM's cache, and below it the tiers of one LMCache."""

    def __init__(
        self,
        first: CacheModel,
        store: ChunkStore,
        rules: TierRules,
        *,
        block_size: int,
        small: bool,
        lmcache_namespaces: Sequence[int] = (),
    ) -> None:
        """Take vLLM's own cache and the store, both empty.

        ``lmcache_namespaces`` says for each namespace which one it is to LMCache.
        """
        super().__init__(first, rules, block_size, 1 + len(store.lower))
        self.lower_block_size = store.chunk_size
        self._store, self._small = store, small
        self._interner: Interner | None = None
        self._lmcache_namespaces = lmcache_namespaces
        self._unkeyed: UnkeyedStore | None = None
        self.cross_tokens = Column()
        """Tokens that each request would read of another adapter's or salt's KV."""

    @property
    def lower_tiers(self) -> Sequence[TierState]:
        """Return what is to be told of CPU memory and of the tiers below it."""
        return [self._store.cpu_tier, *self._store.lower_tiers]

    @property
    def stalled_requests(self) -> int:
        """Return how many requests found more than CPU memory holds at once."""
        return self._store.stalled_requests

    def remarks(self, counted: slice) -> Iterator[str]:
        """Yield what must be said of the tiers and the counted requests, in sentences."""
        yield store_note(self.rules, self._store.chunk_size, self._store.cpu.policy)
        cross = self.cross_tokens.values()[counted]
        if cross.any():
            yield (
                f"LMCache's own keys leave out adapter and cache salt: {int((cross > 0).sum()):,} "
                f"of {len(cross):,} requests would read {int(cross.sum()):,} tokens that a request "
                "with another one computed, so KV of other weights, or of another's prompt; they "
                "are counted as computed here"
            )

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other."""
        outcome = self.first.replay(prompts, blocks)
        self._follow_unkeyed(prompts, blocks, outcome)
        chunks = self._chunks(prompts, blocks)
        tiers = 2 + len(self._store.lower)
        tokens = np.zeros((tiers, len(outcome.admitted)), np.int64)
        written = np.zeros((tiers - 1, len(outcome.admitted)), np.int64)
        tokens[0] = own = outcome.cached_tokens
        for i, request in enumerate(self._store.requests.of(prompts, chunks)):
            if outcome.admitted[i]:  # what does not fit vLLM waits for ever
                visit = self._store.serve(request._replace(own_tokens=int(own[i])))
                tokens[1:, i] = visit.hit_tokens
                written[:, i] = visit.cpu_tokens, *visit.written_tokens
        spare_last_token(tokens, prompts.prompt_tokens)
        self._record(tokens, written)
        hits = tokens.sum(axis=0)
        return CacheOutcome(
            cached_tokens=hits,
            hit_blocks=-(-hits // self.block_size),
            admitted=outcome.admitted,
            evicted_blocks=outcome.evicted_blocks,
            held_blocks=outcome.held_blocks,
            peak_blocks=outcome.peak_blocks,
            tier_tokens=tokens,
        )

    def _follow_unkeyed(
        self, prompts: PromptBatch, blocks: BlockBatch, outcome: CacheOutcome
    ) -> None:
        """Note what would be read across adapters and salts; before the batch is served here."""
        if self._unkeyed is None and has_several(prompts, self._lmcache_namespaces):
            interner = self._interner or self._new_interner(blocks)
            self._unkeyed = UnkeyedStore(deepcopy(self._store), deepcopy(interner))
        if self._unkeyed is None:
            self.cross_tokens.extend(np.zeros(len(outcome.admitted), np.int64))
            return
        own, admitted = outcome.cached_tokens.tolist(), outcome.admitted.tolist()
        self.cross_tokens.extend(
            self._unkeyed.cross_tokens(prompts, self._lmcache_namespaces, own, admitted)
        )

    def _chunks(self, prompts: PromptBatch, blocks: BlockBatch) -> BlockBatch:
        """Return the chunks of a batch."""
        if self._interner is None:
            self._interner = self._new_interner(blocks)
        return self._interner.intern(prompts)

    def _new_interner(self, blocks: BlockBatch) -> Interner:
        return chunk_interner(self._store, blocks, block_size=self.block_size, small=self._small)


def store_note(rules: TierRules, chunk_size: int, policy: str) -> str:
    """Say what stands below the engine's own cache."""
    return (
        f"the tiers below {rules.names[0]} are LMCache {MODELLED}'s, in chunks of {chunk_size:,} "
        f"tokens, {policy}"
    )


def chunk_interner(
    store: ChunkStore, blocks: BlockBatch, *, block_size: int, small: bool
) -> Interner:
    """Return an empty interner of a store's chunks, for a log cut into these blocks."""
    units = store.chunk_size * blocks.block_units // block_size
    tails = store.requests.keeps_partial and units > 1
    return make_interner(block_units=units, tails=tails, small=small)
