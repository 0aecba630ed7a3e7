"""vLLM's scheduler, step by step: requests share steps, and compete for blocks.

Read from vLLM 0.33.0, ``vllm/v1/core/sched/scheduler.py`` unless another file is named. First
come, first served; chunked prefill; a prompt is admitted only where all of it fits. A step's
blocks can be hit by the requests scheduled after it in the same step. Steps have no length.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch, known_full_blocks
from kvaudit.replay.models.paged import UNKNOWN
from kvaudit.replay.models.shared_pool import SharedPool
from kvaudit.replay.models.vllm_releases import FreeOrder
from kvaudit.replay.outcomes import CacheOutcome, check_sizes

MAX_NUM_BATCHED_TOKENS = 8192
"""The token budget of a step that vLLM's server takes on most accelerators."""
MAX_NUM_SEQS = 256
"""The most requests at once."""


def enough_blocks(prompts: PromptBatch, block_size: int) -> int:
    """Return how many blocks a log takes where none is ever used twice."""
    return int((-(-(prompts.prompt_tokens + prompts.output_tokens) // block_size)).sum())


@dataclass(slots=True)
class Scheduled:
    """One request on its way through the engine."""

    number: int
    keys: Sequence[int]
    """Keys of its full blocks of prompt and known output."""
    prompt_tokens: int
    output_tokens: int
    tokens: int
    """Prompt and what was generated so far."""
    computed_tokens: int = 0
    table: list[int] = field(default_factory=list)
    """Its blocks, in order."""
    cached_tokens: int | None = None
    """The hit at first admission; None while it waits for that."""
    resumed_cached_tokens: int = 0
    evicted_blocks: int = 0
    held_blocks: int = 0


class StepScheduler:
    """Runs one engine instance step by step."""

    def __init__(self, pool: SharedPool, *, max_num_batched_tokens: int, max_num_seqs: int) -> None:
        """Take an empty pool, the token budget of a step and the most requests at once."""
        self.pool = pool
        self.max_num_batched_tokens = max_num_batched_tokens
        self.max_num_seqs = max_num_seqs
        self.waiting: deque[Scheduled] = deque()
        self.running: list[Scheduled] = []
        self.peak_blocks = 0

    def step(self) -> Iterator[Scheduled]:
        """Run one step; yield the requests that end in it."""
        scheduled, ended = self._schedule()
        yield from ended
        for request, tokens in scheduled:
            request.computed_tokens += tokens
            if request.computed_tokens < request.tokens:
                continue  # its prefill goes on
            request.tokens += 1
            if request.tokens - request.prompt_tokens >= max(request.output_tokens, 1):
                self.running.remove(request)
                self._release(request)
                yield request

    def _schedule(self) -> tuple[list[tuple[Scheduled, int]], list[Scheduled]]:
        """Return what this step computes of which request, and requests that cannot go on."""
        budget = self.max_num_batched_tokens
        scheduled: list[tuple[Scheduled, int]] = []
        ended: list[Scheduled] = []
        preempted = False
        while len(scheduled) < len(self.running) and budget > 0:
            request = self.running[len(scheduled)]
            tokens = min(request.tokens - request.computed_tokens, budget)
            while not (placed := self._allocate(request, tokens)):
                victim = self.running.pop()  # the one that came last, maybe this one itself
                preempted = True
                self._release(victim)
                if self.pool.blocks_of(victim.tokens) > self.pool.capacity_blocks:
                    ended.append(victim)  # the engine would try again for ever
                else:
                    self.waiting.appendleft(victim)  # what it computed may still be hit
                if victim is request:
                    break
            if not placed:
                break
            scheduled.append((request, tokens))
            budget -= tokens
        # A step that had to preempt admits nobody.
        while self.waiting and not preempted and budget and len(self.running) < self.max_num_seqs:
            admitted = self._admit(self.waiting[0], budget)
            if admitted is None:
                break  # and everybody behind it waits too
            scheduled.append((self.waiting.popleft(), admitted))
            budget -= admitted
        return scheduled, ended

    def _admit(self, request: Scheduled, budget: int) -> int | None:
        """Start or resume a waiting request; return how many of its tokens run in this step."""
        hit = self.pool.lookup(request.keys, request.tokens)
        hit_tokens = len(hit) * self.pool.block_size
        tokens = min(request.tokens - hit_tokens, budget)
        if not self._allocate(request, tokens, hit):
            return None
        self.running.append(request)
        request.computed_tokens = hit_tokens
        if request.cached_tokens is None:
            request.cached_tokens = hit_tokens
        else:
            request.resumed_cached_tokens += hit_tokens
        return tokens

    def _allocate(self, request: Scheduled, tokens: int, hit: Sequence[int] = ()) -> bool:
        """Give the request blocks for ``tokens`` more; False where there are too few.

        kv_cache_manager.py, allocate_slots: the blocks that these tokens fill can be hit from
        now on, before they are computed.
        """
        pool = self.pool
        computed = request.computed_tokens + len(hit) * pool.block_size
        held = len(request.table) + len(hit)
        # Blocks that are hit but held by nobody count as taken from the free ones.
        room = pool.free_blocks - pool.unused(hit)
        # full_sequence_must_fit: a prompt whose end would not fit is not begun.
        whole = computed + tokens if request.table else request.tokens
        if pool.blocks_of(whole) - held > room:
            return False
        pool.touch(hit)
        request.table += hit
        for _ in range(pool.blocks_of(computed + tokens) - held):
            block, evicted = pool.pop()
            request.table.append(block)
            request.evicted_blocks += evicted
        for i in range(computed // pool.block_size, (computed + tokens) // pool.block_size):
            pool.insert(request.table[i], request.keys[i] if i < len(request.keys) else UNKNOWN)
        self.peak_blocks = max(self.peak_blocks, pool.occupied_blocks)
        return True

    def _release(self, request: Scheduled) -> None:
        """Take all blocks from a request."""
        self.pool.release(request.table)
        request.table = []
        request.computed_tokens = 0
        request.held_blocks = self.pool.held_blocks


class ScheduledVllm:
    """The scheduler as a cache model over a whole log, given as one batch.

    Requests are queued in the order of the batch, each in its ``arrive_step``, or in step 0
    where the log has none; an engine with nothing to do goes on to the next arrival.
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
        """Take the sizes of the pool, None for one that never evicts, and the limits of a step."""
        check_sizes(capacity_blocks, block_size)
        self.capacity_blocks = capacity_blocks
        self.block_size = block_size
        self.free_order = free_order
        self.eagle = eagle
        self.max_num_batched_tokens = max_num_batched_tokens
        self.max_num_seqs = max_num_seqs

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve all requests of the log."""
        pool = SharedPool(
            capacity_blocks=self.capacity_blocks or enough_blocks(prompts, self.block_size),
            block_size=self.block_size,
            free_order=self.free_order,
            eagle=self.eagle,
        )
        scheduler = StepScheduler(
            pool,
            max_num_batched_tokens=self.max_num_batched_tokens,
            max_num_seqs=self.max_num_seqs,
        )
        requests = self._requests(prompts, blocks)
        steps = [facts.arrive_step or 0 for facts in prompts.requests]
        fits = [pool.blocks_of(r.prompt_tokens) <= pool.capacity_blocks for r in requests]
        coming = deque(requests)
        step = 0
        while coming or scheduler.waiting or scheduler.running:
            if not scheduler.waiting and not scheduler.running:
                step = max(step, steps[coming[0].number])
            while coming and steps[coming[0].number] <= step:
                request = coming.popleft()
                request.held_blocks = pool.held_blocks
                if fits[request.number]:
                    scheduler.waiting.append(request)
            for _ in scheduler.step():
                pass
            step += 1
        cached = np.array([r.cached_tokens or 0 for r in requests], np.int64)
        return CacheOutcome(
            cached_tokens=cached,
            hit_blocks=cached // self.block_size,
            admitted=np.array(fits, np.bool_),
            evicted_blocks=np.array([r.evicted_blocks for r in requests], np.int64),
            held_blocks=np.array([r.held_blocks for r in requests], np.int64),
            peak_blocks=scheduler.peak_blocks,
            resumed_cached_tokens=np.array([r.resumed_cached_tokens for r in requests], np.int64),
        )

    def _requests(self, prompts: PromptBatch, blocks: BlockBatch) -> list[Scheduled]:
        known = known_full_blocks(prompts, blocks, self.block_size).tolist()
        starts, keys = blocks.key_offsets.tolist(), blocks.keys.tolist()
        lengths = zip(prompts.prompt_tokens.tolist(), prompts.output_tokens.tolist(), strict=True)
        return [
            Scheduled(i, keys[starts[i] : starts[i] + known[i]], prompt, output, prompt)
            for i, (prompt, output) in enumerate(lengths)
        ]
