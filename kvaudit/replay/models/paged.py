"""vLLM's block pool, one request at a time: looked up, prefilled, decoded, freed.

Read from vLLM 0.20.2, 0.23.0, 0.24.0 and 0.33.0, folder ``vllm/v1/core``; the file is named
beside each rule. Prefix caching on, one group of full-attention layers, no connector, no
look-ahead slots. Nothing else runs while a request does, so every block but its own is free.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch, known_full_blocks
from kvaudit.replay.models.vllm_releases import FreeOrder
from kvaudit.replay.outcomes import CacheOutcome, all_served, check_sizes

UNKNOWN = -2
"""The key of a block with generated tokens that the log does not hold: it takes room and is
evicted like any other, and no prompt can be shown to hit it."""


class Served(NamedTuple):
    """What one request found and left behind, in blocks."""

    hit_blocks: int
    admitted: bool
    evicted_blocks: int
    held_blocks: int


class VllmPool:
    """The pool of one engine instance; remembers from request to request.

    ``capacity_blocks`` are usable blocks, the null block not counted; None never evicts.
    Grows to about 300 bytes a block that was ever allocated.
    """

    def __init__(
        self,
        *,
        capacity_blocks: int | None,
        block_size: int,
        free_order: FreeOrder,
        eagle: bool = False,
    ) -> None:
        """Take blocks in tokens; with ``eagle`` a speculative drafter needs one block more."""
        check_sizes(capacity_blocks, block_size)
        self.capacity_blocks = capacity_blocks
        self.block_size = block_size
        self.free_order = free_order
        self.eagle = eagle
        self.peak_blocks = 0
        self.evicted_keys: list[int] | None = None
        """Where the keys that are evicted are written down, in order; None writes nothing."""
        self._allocated = 0  # blocks with a higher number were never in use
        self._holes: list[int] = []  # free blocks at the head of the queue, last in first out
        self._free: OrderedDict[int, None] = OrderedDict()  # the rest of the queue, head first
        self._key_of: dict[int, int] = {}
        # No de-duplication: a key may belong to several blocks, oldest first
        # (block_pool.py, BlockHashToBlockMap).
        self._blocks_of: dict[int, dict[int, None]] = {}

    def held_keys(self) -> Collection[int]:
        """Return the keys that a later request could hit."""
        return self._blocks_of.keys()

    def serve(self, keys: Sequence[int], prompt_tokens: int, output_tokens: int) -> Served:
        """Run one request to its end; ``keys`` are those of its full blocks that are known."""
        prompt_blocks = -(-prompt_tokens // self.block_size)
        if self.capacity_blocks is not None and prompt_blocks > self.capacity_blocks:
            # kv_cache_manager.py, allocate_slots: the whole prompt must fit
            # (full_sequence_must_fit), else the request waits, here for ever.
            return Served(0, False, 0, len(self._key_of))
        table = self._lookup(keys, prompt_tokens)
        hit_blocks = len(table)
        for block in table:
            del self._free[block]  # block_pool.py, touch
        # The first output token comes with the prefill, and the last one is never computed.
        computed_tokens = prompt_tokens + max(output_tokens, 1) - 1
        if self.capacity_blocks is not None:
            # scheduler.py: where a decode finds no block the request itself is preempted,
            # and its prompt and output so far cannot be admitted again. It ends there.
            computed_tokens = min(computed_tokens, self.capacity_blocks * self.block_size)
        evicted_blocks = 0
        while len(table) * self.block_size < computed_tokens:
            block, evicted = self._pop_free()
            table.append(block)
            evicted_blocks += evicted
        keyed_blocks = computed_tokens // self.block_size
        for index in range(hit_blocks, keyed_blocks):
            self._insert(table[index], keys[index] if index < len(keys) else UNKNOWN)
        unkeyed_blocks = len(table) - keyed_blocks
        self.peak_blocks = max(self.peak_blocks, len(self._key_of) + unkeyed_blocks)
        self._release(table)
        return Served(hit_blocks, True, evicted_blocks, len(self._key_of))

    def _lookup(self, keys: Sequence[int], prompt_tokens: int) -> list[int]:
        """Return the blocks of the longest cached prefix. Changes nothing."""
        # kv_cache_manager.py, get_computed_blocks: the last token is computed again for its
        # logits, and with it all of its block, even when the whole prompt is cached.
        reusable = max(0, prompt_tokens - 1) // self.block_size
        found: list[int] = []
        for key in keys[:reusable]:
            blocks = self._blocks_of.get(key)
            if blocks is None:
                break
            found.append(next(iter(blocks)))  # the block that got the key first
        if self.eagle and found:
            # single_type_kv_cache_manager.py, FullAttentionManager: the drafter needs the
            # hidden states before the first new token.
            found.pop()
        return found

    def _pop_free(self) -> tuple[int, bool]:
        """Take the block at the head of the free queue; return whether that evicts KV."""
        if self._holes:
            return self._holes.pop(), False
        # Blocks that were never in use stand before all that were freed to the tail.
        if self.capacity_blocks is None or self._allocated < self.capacity_blocks:
            self._allocated += 1
            return self._allocated, False
        block = self._next_to_go()
        key = self._key_of.pop(block, None)
        if key is None:
            return block, False
        if self.evicted_keys is not None:
            self.evicted_keys.append(key)
        if key != UNKNOWN:
            # block_pool.py, _maybe_evict_cached_block: freeing does not evict, this does.
            blocks = self._blocks_of[key]
            del blocks[block]
            if not blocks:
                del self._blocks_of[key]
        return block, True

    def _next_to_go(self) -> int:
        """Take the block that was freed first."""
        return self._free.popitem(last=False)[0]

    def _arrive(self, prompts: PromptBatch, number: int) -> None:
        """Note what else decides about a request's blocks; in vLLM nothing does."""

    def _insert(self, block: int, key: int) -> None:
        self._key_of[block] = key
        if key != UNKNOWN:
            self._blocks_of.setdefault(key, {})[block] = None

    def _release(self, table: Sequence[int]) -> None:
        # single_type_kv_cache_manager.py, free: in reverse, so that the tail goes first.
        for block in reversed(table):
            keyed = block in self._key_of
            if keyed or self.free_order is FreeOrder.ALL_TO_TAIL:
                self._free[block] = None
            else:
                self._holes.append(block)

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other."""
        return self.replay_some(prompts, blocks, all_served(prompts))

    def _look(self, keys: Sequence[int], prompt_tokens: int) -> Served:
        """Return what `serve` would find. Changes nothing."""
        fits = self.capacity_blocks is None or (
            -(-prompt_tokens // self.block_size) <= self.capacity_blocks
        )
        hit_blocks = len(self._lookup(keys, prompt_tokens)) if fits else 0
        return Served(hit_blocks, True, 0, len(self._key_of))

    def replay_some(
        self, prompts: PromptBatch, blocks: BlockBatch, served: NDArray[np.bool_]
    ) -> CacheOutcome:
        """Serve the marked requests one after the other, and only look at the others."""
        full_blocks = known_full_blocks(prompts, blocks, self.block_size).tolist()
        starts = blocks.key_offsets.tolist()
        keys = blocks.keys.tolist()
        lengths = zip(prompts.prompt_tokens.tolist(), prompts.output_tokens.tolist(), strict=True)
        found = []
        for i, (own, (prompt, output)) in enumerate(zip(served.tolist(), lengths, strict=True)):
            known = keys[starts[i] : starts[i] + full_blocks[i]]
            self._arrive(prompts, i)
            found.append(self.serve(known, prompt, output) if own else self._look(known, prompt))
        table = np.array(found, np.int64).reshape(-1, len(Served._fields))
        return CacheOutcome(
            cached_tokens=table[:, 0] * self.block_size,
            hit_blocks=table[:, 0],
            admitted=table[:, 1].astype(np.bool_),
            evicted_blocks=table[:, 2],
            held_blocks=table[:, 3],
            peak_blocks=self.peak_blocks,
        )
