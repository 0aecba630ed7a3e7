"""vLLM's scheduler, compiled; `kvaudit.replay.models.scheduled` is what it must equal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch, known_full_blocks
from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.models.paged import UNKNOWN
from kvaudit.replay.models.scheduled import (
    MAX_NUM_BATCHED_TOKENS,
    MAX_NUM_SEQS,
    enough_blocks,
)
from kvaudit.replay.models.vllm_releases import FreeOrder
from kvaudit.replay.outcomes import CacheOutcome, check_sizes

_UNKEYED = -1
_NONE = 0
"""No block: block 0 is the anchor of the ring, as the null block is in vLLM."""
_WAITS = -1
"""The hit of a request that was not admitted yet."""


class _Log(NamedTuple):
    """What is asked, by request in the order of the queue."""

    keys: NDArray[np.int32]
    starts: NDArray[np.int64]
    known: NDArray[np.int64]
    prompt_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    arrive_step: NDArray[np.int64]


class _Limits(NamedTuple):
    """Sizes of the pool and of a step."""

    capacity: int
    block_size: int
    to_head: bool
    eagle: bool
    budget: int
    seqs: int
    table_blocks: int
    """The most blocks any request can hold."""


class _Answer(NamedTuple):
    """What the kernel writes, by request."""

    cached_tokens: NDArray[np.int64]
    resumed_cached_tokens: NDArray[np.int64]
    admitted: NDArray[np.bool_]
    evicted_blocks: NDArray[np.int64]
    held_blocks: NDArray[np.int64]


class CompiledScheduledVllm:
    """`ScheduledVllm` for large logs.

    Holds 24 bytes a block of the capacity, 8 bytes a distinct block and 60 bytes a request.
    """

    def __init__(
        self,
        *,
        capacity_blocks: int | None,
        block_size: int,
        free_order: FreeOrder,
        eagle: bool = False,
        max_num_batched_tokens: int = MAX_NUM_BATCHED_TOKENS,
        max_num_seqs: int = MAX_NUM_SEQS,
    ) -> None:
        """Take what the reference takes."""
        check_sizes(capacity_blocks, block_size)
        self.capacity_blocks = capacity_blocks
        self._limits = _Limits(
            capacity=0,
            block_size=block_size,
            to_head=free_order is FreeOrder.UNKEYED_TO_HEAD,
            eagle=eagle,
            budget=max_num_batched_tokens,
            seqs=max_num_seqs,
            table_blocks=0,
        )

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve all requests of the log, given as one batch."""
        requests = len(prompts.prompt_tokens)
        longest = int((prompts.prompt_tokens + prompts.output_tokens).max(initial=0))
        capacity = self.capacity_blocks or enough_blocks(prompts, self._limits.block_size)
        limits = self._limits._replace(
            capacity=capacity,
            table_blocks=min(capacity, longest // self._limits.block_size + 1),
        )
        log = _Log(
            keys=blocks.keys,
            starts=blocks.key_offsets,
            known=known_full_blocks(prompts, blocks, limits.block_size),
            prompt_tokens=prompts.prompt_tokens,
            output_tokens=np.maximum(prompts.output_tokens, 1),
            arrive_step=np.array([f.arrive_step or 0 for f in prompts.requests], np.int64),
        )
        answer = _Answer(
            cached_tokens=np.full(requests, _WAITS, np.int64),
            resumed_cached_tokens=np.zeros(requests, np.int64),
            admitted=-(-prompts.prompt_tokens // limits.block_size) <= limits.capacity,
            evicted_blocks=np.zeros(requests, np.int64),
            held_blocks=np.zeros(requests, np.int64),
        )
        peak_blocks = _serve(log, limits, int(blocks.keys.max(initial=-1)) + 1, answer)
        cached_tokens = np.maximum(answer.cached_tokens, 0)
        return CacheOutcome(
            cached_tokens=cached_tokens,
            hit_blocks=cached_tokens // limits.block_size,
            admitted=answer.admitted,
            evicted_blocks=answer.evicted_blocks,
            held_blocks=answer.held_blocks,
            peak_blocks=peak_blocks,
            resumed_cached_tokens=answer.resumed_cached_tokens,
        )


class _Pool(NamedTuple):
    """State of the pool, by block number unless stated."""

    older: NDArray[np.int32]
    newer: NDArray[np.int32]
    """The free queue is a ring through block 0: newer[0] is its head."""
    users: NDArray[np.int32]
    key: NDArray[np.int32]
    copy: NDArray[np.int32]
    """The next block with the same key."""
    first: NDArray[np.int32]
    """By key: the oldest block that has it."""
    last: NDArray[np.int32]
    """By key: the youngest block that has it."""


@compiled
def _new_pool(capacity: int, keys: int) -> _Pool:
    older = np.empty(capacity + 1, np.int32)
    newer = np.empty(capacity + 1, np.int32)
    for block in range(capacity + 1):
        older[block] = block - 1 if block else capacity
        newer[block] = block + 1 if block < capacity else 0
    return _Pool(
        older,
        newer,
        np.zeros(capacity + 1, np.int32),
        np.full(capacity + 1, _UNKEYED, np.int32),
        np.zeros(capacity + 1, np.int32),
        np.zeros(keys, np.int32),
        np.zeros(keys, np.int32),
    )


@compiled
def _release(pool: _Pool, table: NDArray[np.int32], used: int, to_head: bool) -> tuple[int, int]:
    """Give a table's blocks back, the last first; return how many are free, and free and empty."""
    older, newer = pool.older, pool.newer
    freed = empty = 0
    head = 0  # the block last put at the head by this release; the next one follows it
    for index in range(used - 1, -1, -1):
        block = table[index]
        pool.users[block] -= 1
        if pool.users[block] > 0:
            continue
        freed += 1
        keyed = pool.key[block] != _UNKEYED
        if not keyed:
            empty += 1
        before = older[0] if keyed or not to_head else head
        after = newer[before]
        newer[before] = block
        older[block] = before
        newer[block] = after
        older[after] = block
        if not keyed and to_head:
            head = block
    return freed, empty


@compiled
def _forget(pool: _Pool, block: int) -> None:
    """Take the block from those that have its key."""
    key = pool.key[block]
    if key == UNKNOWN:
        return
    if pool.first[key] == block:
        pool.first[key] = pool.copy[block]
        return
    before = pool.first[key]
    while pool.copy[before] != block:
        before = pool.copy[before]
    pool.copy[before] = pool.copy[block]
    if pool.last[key] == block:
        pool.last[key] = before


@compiled
def _serve(log: _Log, limits: _Limits, keys: int, answer: _Answer) -> int:
    # One loop, as in the pool's kernel: arrays handed to helpers cost more than what they do.
    capacity, size = limits.capacity, limits.block_size
    pool = _new_pool(capacity, keys)
    older, newer, users, key_of, copy, first, last = pool
    requests = len(log.prompt_tokens)
    tokens = log.prompt_tokens.copy()
    computed = np.zeros(requests, np.int64)
    used = np.zeros(requests, np.int64)
    slot = np.zeros(requests, np.int64)
    tables = np.empty((limits.seqs, limits.table_blocks), np.int32)
    free_slots = np.arange(limits.seqs)
    running = np.empty(limits.seqs, np.int64)
    amount = np.empty(limits.seqs, np.int64)
    resuming = np.empty(limits.seqs + 1, np.int64)  # preempted requests, the first in line last
    running_count = resuming_count = 0
    free, empty, keyed_count, peak = capacity, capacity, 0, 0
    queued = arrived = step = 0  # requests before `queued` have left the queue of arrivals
    while True:
        while arrived < requests and log.arrive_step[arrived] <= step:
            answer.held_blocks[arrived] = keyed_count
            arrived += 1
        while queued < arrived and not answer.admitted[queued]:
            queued += 1
        if running_count == 0 and resuming_count == 0 and queued == arrived:
            if arrived == requests:
                return peak
            step = log.arrive_step[arrived]
            continue
        budget = limits.budget
        scheduled = 0
        preempted = False
        while budget > 0:
            hits = waking = 0
            starting = scheduled == running_count
            if not starting:
                request = running[scheduled]
            else:
                while queued < arrived and not answer.admitted[queued]:
                    queued += 1
                if preempted or running_count == limits.seqs:
                    break
                if resuming_count > 0:
                    request = resuming[resuming_count - 1]
                elif queued < arrived:
                    request = queued
                else:
                    break
                begin = log.starts[request]
                reusable = min(log.known[request], max(0, tokens[request] - 1) // size)
                while hits < reusable and first[log.keys[begin + hits]] != _NONE:
                    hits += 1
                if limits.eagle and hits > 0:
                    hits -= 1
                for index in range(hits):
                    if users[first[log.keys[begin + index]]] == 0:
                        waking += 1
                slot[request] = free_slots[running_count]
                computed[request] = hits * size
            share = min(tokens[request] - computed[request], budget)
            end = computed[request] + share
            held = max(used[request], hits)
            whole = tokens[request] if starting else end
            if -(-whole // size) - held > free - waking:
                if starting:
                    computed[request] = 0
                    break
                running_count -= 1
                victim = running[running_count]
                preempted = True
                freed, emptied = _release(pool, tables[slot[victim]], used[victim], limits.to_head)
                free += freed
                empty += emptied
                free_slots[running_count] = slot[victim]
                used[victim] = 0
                computed[victim] = 0
                answer.held_blocks[victim] = keyed_count
                if -(-tokens[victim] // size) <= capacity:
                    resuming[resuming_count] = victim
                    resuming_count += 1
                if victim == request:
                    break
                continue
            table = tables[slot[request]]
            begin = log.starts[request]
            for index in range(hits):
                block = first[log.keys[begin + index]]
                table[index] = block
                if users[block] == 0:
                    newer[older[block]] = newer[block]
                    older[newer[block]] = older[block]
                    free -= 1
                users[block] += 1
            for index in range(held, -(-end // size)):
                block = newer[0]
                newer[0] = newer[block]
                older[newer[block]] = 0
                free -= 1
                users[block] = 1
                table[index] = block
                if key_of[block] == _UNKEYED:
                    empty -= 1
                else:
                    _forget(pool, block)
                    key_of[block] = _UNKEYED
                    keyed_count -= 1
                    answer.evicted_blocks[request] += 1
            used[request] = max(held, -(-end // size))
            for index in range(computed[request] // size, end // size):
                block = table[index]
                keyed_count += 1
                if index >= log.known[request]:
                    key_of[block] = UNKNOWN
                    continue
                key = log.keys[begin + index]
                key_of[block] = key
                copy[block] = _NONE
                if first[key] == _NONE:
                    first[key] = block
                else:
                    copy[last[key]] = block
                last[key] = block
            peak = max(peak, capacity - empty)
            if starting:
                if resuming_count > 0:
                    resuming_count -= 1
                else:
                    queued += 1
                running[running_count] = request
                running_count += 1
                if answer.cached_tokens[request] == _WAITS:
                    answer.cached_tokens[request] = hits * size
                else:
                    answer.resumed_cached_tokens[request] += hits * size
            amount[scheduled] = share
            scheduled += 1
            budget -= share
        staying = 0
        for index in range(running_count):
            request = running[index]
            if index < scheduled:
                computed[request] += amount[index]
                if computed[request] == tokens[request]:
                    tokens[request] += 1
                    if tokens[request] - log.prompt_tokens[request] >= log.output_tokens[request]:
                        freed, emptied = _release(
                            pool, tables[slot[request]], used[request], limits.to_head
                        )
                        free += freed
                        empty += emptied
                        answer.held_blocks[request] = keyed_count
                        continue
            running[staying] = request
            staying += 1
        if staying < running_count:
            _collect_slots(free_slots, slot, running, staying)
            running_count = staying
        step += 1


@compiled
def _collect_slots(
    free_slots: NDArray[np.int64],
    slot: NDArray[np.int64],
    running: NDArray[np.int64],
    running_count: int,
) -> None:
    """List the slots that no running request has, from position ``running_count`` on."""
    taken = np.zeros(len(free_slots), np.bool_)
    for index in range(running_count):
        taken[slot[running[index]]] = True
    place = running_count
    for number in range(len(free_slots)):
        if not taken[number]:
            free_slots[place] = number
            place += 1
