"""vLLM's block pool, compiled; `kvaudit.replay.models.paged` is what it must equal.

The free queue is kept in three parts, in the order in which they are taken: holes (free
blocks without a key, put back at the head), blocks that were never in use, and a list of
the rest, oldest first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch, known_full_blocks
from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.kernels.free_list import append, unlink
from kvaudit.replay.kernels.growth import grown
from kvaudit.replay.kernels.paged_unbounded import Answer, Work, fill
from kvaudit.replay.models.paged import UNKNOWN
from kvaudit.replay.models.vllm_releases import FreeOrder
from kvaudit.replay.outcomes import CacheOutcome, all_served, check_sizes

_UNKEYED = -1
_NONE = 0
"""No block: block 0 is the anchor of the list, as the null block is in vLLM."""


class _Pool(NamedTuple):
    """State of a bounded pool, by block number unless stated."""

    counts: NDArray[np.int64]
    """Blocks that were ever in use, holes, blocks with a key, peak."""
    older: NDArray[np.int32]
    newer: NDArray[np.int32]
    """The list of free blocks is a ring through block 0: newer[0] is its head."""
    key: NDArray[np.int32]
    copy: NDArray[np.int32]
    """The next block with the same key."""
    holes: NDArray[np.int32]
    first: NDArray[np.int32]
    """By key: the oldest block that has it."""
    last: NDArray[np.int32]
    """By key: the youngest block that has it."""


class CompiledVllmPool:
    """`VllmPool` for large logs.

    Grows to 20 bytes a block of the capacity and 8 bytes a distinct block of the log; without
    a capacity, to 1 byte a distinct block.
    """

    def __init__(
        self,
        *,
        capacity_blocks: int | None,
        block_size: int,
        free_order: FreeOrder,
        eagle: bool = False,
    ) -> None:
        """Take what the reference takes."""
        check_sizes(capacity_blocks, block_size)
        self.capacity_blocks = capacity_blocks
        self.block_size = block_size
        self.free_order = free_order
        self.eagle = eagle
        self._cached = np.zeros(0, np.bool_)
        self._pool = _Pool(
            counts=np.zeros(4, np.int64),
            older=np.zeros(1, np.int32),
            newer=np.zeros(1, np.int32),
            key=np.full(1, _UNKEYED, np.int32),
            copy=np.zeros(1, np.int32),
            holes=np.empty(0, np.int32),
            first=np.empty(0, np.int32),
            last=np.empty(0, np.int32),
        )

    @property
    def peak_blocks(self) -> int:
        """The most blocks in use or held at any moment."""
        return int(self._pool.counts[3])

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other."""
        return self.replay_some(prompts, blocks, all_served(prompts))

    def replay_some(
        self, prompts: PromptBatch, blocks: BlockBatch, served: NDArray[np.bool_]
    ) -> CacheOutcome:
        """Serve the marked requests one after the other, and only look at the others."""
        requests = len(prompts.prompt_tokens)
        # The first output token comes with the prefill, and the last one is never computed.
        computed_tokens = prompts.prompt_tokens + np.maximum(prompts.output_tokens, 1) - 1
        work = Work(
            keys=blocks.keys,
            starts=blocks.key_offsets,
            known=known_full_blocks(prompts, blocks, self.block_size),
            prompt_tokens=prompts.prompt_tokens,
            computed_tokens=computed_tokens,
            served=served,
        )
        answer = Answer(
            hit_blocks=np.zeros(requests, np.int64),
            admitted=np.ones(requests, np.bool_),
            evicted_blocks=np.zeros(requests, np.int64),
            held_blocks=np.zeros(requests, np.int64),
        )
        keys = int(blocks.keys.max(initial=-1)) + 1
        if self.capacity_blocks is None:
            self._cached = grown(self._cached, keys, fill=0)
            fill(self._pool.counts, self._cached, work, self.block_size, self.eagle, answer)
        else:
            self._make_room(keys, computed_tokens[served])
            to_head = self.free_order is FreeOrder.UNKEYED_TO_HEAD
            _serve(
                self._pool,
                work,
                self.capacity_blocks,
                self.block_size,
                to_head,
                self.eagle,
                answer,
            )
        return CacheOutcome(
            cached_tokens=answer.hit_blocks * self.block_size,
            hit_blocks=answer.hit_blocks,
            admitted=answer.admitted,
            evicted_blocks=answer.evicted_blocks,
            held_blocks=answer.held_blocks,
            peak_blocks=self.peak_blocks,
        )

    def _make_room(self, keys: int, computed_tokens: NDArray[np.int64]) -> None:
        """Grow the arrays as far as the batch, or the capacity, can need."""
        assert self.capacity_blocks is not None
        pool = self._pool
        more = int((-(-computed_tokens // self.block_size)).sum())
        blocks = min(int(pool.counts[0]) + more, self.capacity_blocks) + 1
        self._pool = pool._replace(
            older=grown(pool.older, blocks),
            newer=grown(pool.newer, blocks),
            key=grown(pool.key, blocks, fill=_UNKEYED),
            copy=grown(pool.copy, blocks),
            holes=grown(pool.holes, blocks),
            first=grown(pool.first, keys, fill=_NONE),
            last=grown(pool.last, keys),
        )


@compiled
def _forget_copy(
    first: NDArray[np.int32],
    last: NDArray[np.int32],
    copy: NDArray[np.int32],
    key: int,
    block: int,
) -> None:
    """Take a block that is not the first one from those that have the key."""
    before = first[key]
    while copy[before] != block:
        before = copy[before]
    copy[before] = copy[block]
    if last[key] == block:
        last[key] = before


@compiled
def _serve(
    pool: _Pool,
    work: Work,
    capacity: int,
    block_size: int,
    to_head: bool,
    eagle: bool,
    answer: Answer,
) -> None:
    # Arrays handed to a helper that is not inlined are counted references, which made this
    # loop ten times slower; so the common cases stand here, and the counters are numbers.
    _, older, newer, key_of, copy, holes, first, last = pool
    ever_used, hole_count, keyed_count, peak = pool.counts
    table = np.empty(len(older), np.int32)
    for request in range(len(work.prompt_tokens)):
        prompt = work.prompt_tokens[request]
        if -(-prompt // block_size) > capacity:
            answer.admitted[request] = not work.served[request]
            answer.held_blocks[request] = keyed_count
            continue
        keys = work.keys[work.starts[request] : work.starts[request] + work.known[request]]
        reusable = min(len(keys), max(0, prompt - 1) // block_size)
        hits = 0
        while hits < reusable and first[keys[hits]] != _NONE:
            hits += 1
        if eagle and hits > 0:
            hits -= 1
        if not work.served[request]:
            answer.hit_blocks[request] = hits
            answer.held_blocks[request] = keyed_count
            continue
        for index in range(hits):
            table[index] = first[keys[index]]
            unlink(older, newer, table[index])
        computed = min(work.computed_tokens[request], capacity * block_size)
        used = -(-computed // block_size)
        evicted = 0
        for index in range(hits, used):
            if hole_count > 0:
                hole_count -= 1
                table[index] = holes[hole_count]
            elif ever_used < capacity:
                ever_used += 1
                table[index] = ever_used
            else:
                block = newer[0]
                table[index] = block
                unlink(older, newer, block)
                key = key_of[block]
                key_of[block] = _UNKEYED
                if key != _UNKEYED:
                    evicted += 1
                    if key != UNKNOWN:
                        if first[key] == block:
                            first[key] = copy[block]
                        else:
                            _forget_copy(first, last, copy, key, block)
        keyed = computed // block_size
        for index in range(hits, keyed):
            block = table[index]
            if index >= len(keys):
                key_of[block] = UNKNOWN
                continue
            key = keys[index]
            key_of[block] = key
            copy[block] = _NONE
            if first[key] == _NONE:
                first[key] = block
            else:
                copy[last[key]] = block
            last[key] = block
        keyed_count += keyed - hits - evicted
        peak = max(peak, keyed_count + used - keyed)
        for index in range(used - 1, -1, -1):
            if to_head and index >= keyed:
                holes[hole_count] = table[index]
                hole_count += 1
            else:
                append(older, newer, table[index])
        answer.hit_blocks[request] = hits
        answer.evicted_blocks[request] = evicted
        answer.held_blocks[request] = keyed_count
    pool.counts[:] = (ever_used, hole_count, keyed_count, peak)
