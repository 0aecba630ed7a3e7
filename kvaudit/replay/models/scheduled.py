"""vLLM's scheduler, step by step: requests share steps, and compete for blocks.

Read from vLLM 0.33.0, ``vllm/v1/core/sched/scheduler.py``, and where `Rules` says so from older
releases. Chunked prefill; first come, first served, or by priority. A step's blocks can be hit
by the requests scheduled after it in the same step.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from kvaudit.replay.models.block_tables import BlockTables
from kvaudit.replay.models.layout import Hit, Holder
from kvaudit.replay.models.state_chunks import StateChunks
from kvaudit.replay.models.step_limits import StepLimits
from kvaudit.replay.models.vllm_releases import Preemption


@dataclass(slots=True, kw_only=True)
class Scheduled(Holder):
    """One request on its way through the engine."""

    number: int
    """Its place in the order of arrival."""
    output_tokens: int
    priority: int = 0
    cached_tokens: int | None = None
    """The hit at first admission; None while it waits for that."""
    resumed_cached_tokens: int = 0
    preemptions: int = 0
    tried_alone_tokens: int = 0
    """How long it was when it last gave way though nothing else ran."""
    held_blocks: int = 0

    @property
    def rank(self) -> tuple[int, int]:
        """What priority scheduling sorts by."""
        return self.priority, self.number


class WaitingQueue:
    """Requests that wait, with the next one first."""

    def __init__(self, *, by_priority: bool) -> None:
        """Start empty."""
        self._by_priority = by_priority
        self._line: deque[Scheduled] = deque()
        self._heap: list[tuple[tuple[int, int], Scheduled]] = []

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._line) + len(self._heap)

    def add(self, request: Scheduled, *, first: bool = False) -> None:
        """Add a request at the end, or ``first``; by priority there is no such choice."""
        if self._by_priority:
            heapq.heappush(self._heap, (request.rank, request))
        elif first:
            self._line.appendleft(request)
        else:
            self._line.append(request)

    def next(self) -> Scheduled:
        """Return the next request, and leave it there."""
        return self._heap[0][1] if self._by_priority else self._line[0]

    def take(self) -> Scheduled:
        """Remove the next request."""
        return heapq.heappop(self._heap)[1] if self._by_priority else self._line.popleft()


@dataclass(slots=True)
class Counters:
    """What the engine's own counters show, in tokens (``vllm:prefix_cache_*``)."""

    queries: int = 0
    hits: int = 0
    preempted_queries: int = 0
    preempted_hits: int = 0

    def record(self, tokens: int, hits: int, *, preempted: bool) -> None:
        """Count one look at the cache."""
        if preempted:
            self.preempted_queries += tokens
            self.preempted_hits += hits
        else:
            self.queries += tokens
            self.hits += hits


@dataclass(slots=True)
class Step:
    """What one step computes."""

    work: list[tuple[Scheduled, int]] = field(default_factory=list)
    """Requests in the order they were scheduled, with their tokens."""
    ended: list[Scheduled] = field(default_factory=list)
    """Requests that cannot go on."""
    preempted: bool = False


class StepScheduler:
    """Runs one engine instance step by step."""

    def __init__(self, tables: BlockTables, limits: StepLimits) -> None:
        """Take empty tables and what a step may hold."""
        self.tables, self.limits, self.rules = tables, limits, tables.rules
        self.waiting = WaitingQueue(by_priority=limits.by_priority)
        self.running: list[Scheduled] = []
        self.counters = Counters()
        self.peak_blocks = self.peak_used_blocks = self.peak_running = 0
        self.preemptions = 0
        self._chunks = self._state_chunks()
        # kv_cache_manager.py: of all blocks, the null block among them.
        self._watermark_blocks = (
            int(limits.watermark * (tables.pool.capacity_blocks + 1)) if self.rules.watermark else 0
        )

    def _state_chunks(self) -> StateChunks | None:
        """Return what ends the chunks of prefills, or None where nothing but the budget does."""
        layout, limits = self.tables.layout, self.limits
        if not layout.aligns_states:
            return None
        return StateChunks(
            rules=self.rules,
            block_size=layout.block_size,
            eagle=layout.eagle,
            most_tokens=_share(limits.max_num_batched_tokens, limits.long_prefill_tokens),
        )

    def _aligned(self, request: Scheduled, share: int, hit: Hit | None = None) -> int:
        """Return how much of a request's share of a step is computed, for states to be kept."""
        if self._chunks is None:
            return share
        return self._chunks.share(
            start=hit.tokens if hit else request.computed_tokens,
            share=share,
            prompt=request.prompt_tokens,
            tokens=request.tokens,
            junction=hit.junction if hit else request.junction,
            admits=hit is not None,
        )

    def schedule(self) -> Step:
        """Decide what the next step computes, and take the blocks for it."""
        self.tables.begin_step()
        step = Step()
        budget = self.limits.max_num_batched_tokens
        threshold = self.limits.long_prefill_tokens
        if self.rules.long_prefill_alone and len(self.running) + len(self.waiting) <= 1:
            threshold = 0
        budget = self._continue_running(step, budget, threshold)
        # A step that had to preempt admits nobody.
        while self.waiting and not step.preempted and budget:
            if len(self.running) == self.limits.max_num_seqs:
                break
            request = self.waiting.next()
            tokens = self._admit(request, budget, threshold)
            if tokens == 0 and request.tokens:
                break  # too little is left of this step for a state to be kept
            if tokens is None and not self.running:
                step.ended.append(self.waiting.take())  # the engine would try again for ever
                continue
            if tokens is None:
                break  # and everybody behind it waits too
            step.work.append((self.waiting.take(), tokens))
            budget -= tokens
        self._note_peaks()
        return step

    def _note_peaks(self) -> None:
        pool = self.tables.pool
        self.peak_blocks = max(self.peak_blocks, pool.occupied_blocks)
        self.peak_used_blocks = max(self.peak_used_blocks, pool.used_blocks)
        self.peak_running = max(self.peak_running, len(self.running))

    def _continue_running(self, step: Step, budget: int, threshold: int) -> int:
        """Schedule the running requests in order; return the budget that is left."""
        index = 0
        while index < len(self.running) and budget > 0:
            request = self.running[index]
            tokens = min(_share(request.tokens - request.computed_tokens, threshold), budget)
            tokens = self._aligned(request, tokens)
            if not tokens:
                index += 1
                continue
            while not (placed := self.tables.allocate(request, tokens)):
                self._note_peaks()
                step.preempted = True
                victim = self._victim()
                place = self.running.index(victim)
                del self.running[place]
                spent = [work for work in step.work if work[0] is victim]
                for work in spent:
                    step.work.remove(work)
                    budget += work[1]
                if spent or (place < index and self.rules.preemption is Preemption.ANY_VICTIM):
                    index -= 1
                self._preempt(victim, step)
                if victim is request:
                    break
            if placed:
                step.work.append((request, tokens))
                budget -= tokens
                index += 1
            elif not (self.limits.by_priority and self.rules.preemption is Preemption.ANY_VICTIM):
                break
        return budget

    def _victim(self) -> Scheduled:
        if self.limits.by_priority:
            return max(self.running, key=lambda request: request.rank)
        return self.running[-1]

    def _preempt(self, victim: Scheduled, step: Step) -> None:
        self.preemptions += 1
        victim.preemptions += 1
        self.release(victim)
        stuck = not self.running and victim.tried_alone_tokens == victim.tokens
        if not self.running:
            victim.tried_alone_tokens = victim.tokens
        if stuck or self.limits.ends_preempted or not self.tables.could_fit(victim.tokens):
            step.ended.append(victim)  # the engine would try again for ever
        else:
            self.waiting.add(victim, first=True)  # what it computed may still be hit

    def _admit(self, request: Scheduled, budget: int, threshold: int) -> int | None:
        """Start or resume a waiting request; return its tokens in this step, None if it waits.

        Nothing is begun where the answer is 0.
        """
        hit = self.tables.lookup(request)
        if self.rules.counts_retries:
            self._count(request, hit)
        share = min(_share(request.tokens - hit.tokens, threshold), budget)
        tokens = self._aligned(request, share, hit)
        if share and not tokens:
            return 0
        if not self.tables.allocate(
            request,
            tokens,
            hit,
            keep_free=self._watermark_blocks if self.running else 0,
            whole_fits=self.rules.whole_prompt_fits,
        ):
            return None
        if not self.rules.counts_retries:
            self._count(request, hit)
        self.running.append(request)
        request.computed_tokens = hit.tokens
        if request.cached_tokens is None:
            request.cached_tokens = hit.tokens
        else:
            request.resumed_cached_tokens += hit.tokens
        return tokens

    def _count(self, request: Scheduled, hit: Hit) -> None:
        preempted = request.preemptions > 0 and self.rules.counts_resumed_apart
        self.counters.record(request.tokens, hit.tokens, preempted=preempted)

    def finish(self, step: Step) -> Iterator[tuple[Scheduled, bool]]:
        """Account for a step that has run; yield requests that got a token, and if their last."""
        for request, tokens in step.work:
            request.computed_tokens += tokens
            if request.computed_tokens < request.tokens:
                continue  # its prefill goes on
            request.tokens += 1
            ended = request.tokens - request.prompt_tokens >= max(request.output_tokens, 1)
            if ended:
                self.running.remove(request)
                self.release(request)
            yield request, ended

    def release(self, request: Scheduled) -> None:
        """Take all blocks from a request."""
        self.tables.release(request)
        request.held_blocks = self.tables.pool.held_blocks


def _share(tokens: int, threshold: int) -> int:
    return min(tokens, threshold) if threshold else tokens
