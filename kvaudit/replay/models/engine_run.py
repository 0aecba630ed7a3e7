"""A whole log through one engine: arrivals, steps and their lengths, and what became of each.

The scheduler is the same for all schedules; they differ in the clock. ``steps``: each step
lasts 1, and requests arrive in the step that the log gives. ``timed``: a step lasts as long as
its work takes, and requests arrive in seconds. ``sequential``: all have arrived, and one runs
at a time, its prefill in one step.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.cost.steps import StepCost, decode_part_s, prefill_part_s, step_s
from kvaudit.replay.blocks import BlockBatch, known_full_blocks
from kvaudit.replay.models.block_tables import BlockTables
from kvaudit.replay.models.layout import Layout
from kvaudit.replay.models.scheduled import Scheduled, Step, StepScheduler
from kvaudit.replay.models.shared_pool import SharedPool
from kvaudit.replay.models.step_limits import StepLimits
from kvaudit.replay.models.vllm_releases import Rules
from kvaudit.replay.outcomes import CacheOutcome, EngineActivity, check_sizes

ONE_BY_ONE = StepLimits(max_num_batched_tokens=2**62, max_num_seqs=1, ends_preempted=True)
"""Requests run one after the other, each prefilled in one go, to its end or as far as it fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSetup:
    """What an engine is and what drives it; the kernel takes the same."""

    capacity_blocks: int | None
    """None never evicts."""
    layout: Layout
    rules: Rules
    limits: StepLimits = field(default_factory=StepLimits)
    time: StepCost | None = None
    """How long a step takes; None for steps of length 1 and arrivals in steps."""
    in_order: bool = False
    """Whether requests only follow one another, whenever they arrived."""

    def __post_init__(self) -> None:
        """Refuse sizes that hold nothing."""
        check_sizes(self.capacity_blocks, self.layout.block_size)

    def pool_blocks(self, prompts: PromptBatch) -> int:
        """Return the size of the pool, for a log that it may not have to forget anything of."""
        if self.capacity_blocks is not None:
            return self.capacity_blocks
        totals = prompts.prompt_tokens + prompts.output_tokens
        blocks = int((-(-totals // self.layout.block_size)).sum())
        return max(1, blocks * len(self.layout.groups))

    def arrivals(self, prompts: PromptBatch) -> NDArray[np.float64]:
        """Return when each request arrives, by the clock of the run, from 0 on."""
        if self.in_order or not prompts.requests:
            return np.zeros(len(prompts.prompt_tokens))
        if self.time is None:
            return np.array([float(f.arrive_step or 0) for f in prompts.requests])
        known = [f.arrived_s for f in prompts.requests if f.arrived_s is not None]
        first = min(known, default=0.0)
        latest, arrivals = 0.0, np.empty(len(prompts.requests))
        for i, facts in enumerate(prompts.requests):
            # One without a time arrives with its predecessor.
            latest = latest if facts.arrived_s is None else facts.arrived_s - first
            arrivals[i] = latest
        return arrivals


class EngineRun:
    """One engine as a cache model over a whole log, given as one batch in order of arrival."""

    def __init__(self, setup: EngineSetup) -> None:
        """Take what the engine is; nothing is kept from one log to the next."""
        self.setup = setup

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve all requests of the log; an engine with nothing to do goes on to the next."""
        setup = self.setup
        pool = SharedPool(setup.pool_blocks(prompts))
        tables = BlockTables(pool, setup.layout, setup.rules)
        scheduler = StepScheduler(tables, setup.limits)
        requests = self._requests(prompts, blocks)
        arrivals = setup.arrivals(prompts)
        log = _Diary(len(requests))
        coming = deque(requests)
        now = 0.0
        while coming or scheduler.waiting or scheduler.running:
            if not scheduler.waiting and not scheduler.running:
                now = max(now, float(arrivals[coming[0].number]))
            while coming and arrivals[coming[0].number] <= now:
                if setup.in_order and (scheduler.waiting or scheduler.running):
                    break
                request = coming.popleft()
                request.held_blocks = pool.held_blocks
                log.met_blocks[request.number] = pool.used_blocks
                if tables.could_fit(request.prompt_tokens):
                    scheduler.waiting.add(request)
            if scheduler.waiting or scheduler.running:
                now = self._step(scheduler, now, log)
        cached = np.array([r.cached_tokens or 0 for r in requests], np.int64)
        return CacheOutcome(
            cached_tokens=cached,
            hit_blocks=cached // setup.layout.block_size,
            admitted=np.array([r.cached_tokens is not None for r in requests], np.bool_),
            evicted_blocks=np.array([r.evicted_blocks for r in requests], np.int64),
            held_blocks=np.array([r.held_blocks for r in requests], np.int64),
            peak_blocks=scheduler.peak_blocks,
            resumed_cached_tokens=np.array([r.resumed_cached_tokens for r in requests], np.int64),
            activity=log.activity(scheduler, arrivals, now),
        )

    def _step(self, scheduler: StepScheduler, now: float, log: _Diary) -> float:
        """Run one step that begins ``now``; return when it ends."""
        held = scheduler.tables.pool
        step = scheduler.schedule()
        assert step.work or step.ended or step.preempted, "an idle engine did nothing"
        lasts = _length_s(step, self.setup.time)
        log.steps += 1
        log.used_block_time += held.used_blocks * lasts
        log.busy_time += lasts
        for request, _ in step.work:
            if np.isnan(log.started[request.number]):
                log.started[request.number] = now
        now += lasts
        for request in step.ended:
            log.ended[request.number] = now
        for request, ended in scheduler.finish(step):
            if np.isnan(log.first_token[request.number]):
                log.first_token[request.number] = now
            if ended:
                log.ended[request.number] = now
        return now

    def _requests(self, prompts: PromptBatch, blocks: BlockBatch) -> list[Scheduled]:
        known = known_full_blocks(prompts, blocks, self.setup.layout.block_size).tolist()
        starts, keys = blocks.key_offsets.tolist(), blocks.keys.tolist()
        priorities = [f.priority or 0 for f in prompts.requests] or [0] * len(known)
        lengths = zip(prompts.prompt_tokens.tolist(), prompts.output_tokens.tolist(), strict=True)
        return [
            Scheduled(
                keys=keys[starts[i] : starts[i] + known[i]],
                prompt_tokens=prompt,
                tokens=prompt,
                number=i,
                output_tokens=output,
                priority=priorities[i],
            )
            for i, (prompt, output) in enumerate(lengths)
        ]


def _length_s(step: Step, time: StepCost | None) -> float:
    """Return how long a step lasts; one in which everybody was preempted computes nothing."""
    if time is None:
        return 1.0
    compute_s = 0.0
    tokens = in_view = 0
    for request, share in step.work:
        before = request.computed_tokens
        if share == 1 and before >= request.prompt_tokens:
            compute_s += decode_part_s(time, before)
        else:
            compute_s += prefill_part_s(time, share, before, before + share == request.tokens)
        tokens += share
        in_view += before + share
    return step_s(time, compute_s, tokens, in_view)


class _Diary:
    """What is noted of a run besides hits."""

    def __init__(self, requests: int) -> None:
        self.started, self.first_token = np.full(requests, np.nan), np.full(requests, np.nan)
        self.ended = np.full(requests, np.nan)
        self.met_blocks = np.zeros(requests, np.int64)
        self.steps = 0
        self.used_block_time = self.busy_time = 0.0

    def activity(
        self, scheduler: StepScheduler, arrivals: NDArray[np.float64], end: float
    ) -> EngineActivity:
        counters = scheduler.counters
        return EngineActivity(
            arrived=arrivals,
            started=self.started,
            first_token=self.first_token,
            ended=self.ended,
            met_blocks=self.met_blocks,
            steps=self.steps,
            preemptions=scheduler.preemptions,
            peak_running=scheduler.peak_running,
            peak_used_blocks=scheduler.peak_used_blocks,
            mean_used_blocks=self.used_block_time / self.busy_time if self.busy_time else 0.0,
            counted_queries=counters.queries,
            counted_hits=counters.hits,
            counted_preempted_queries=counters.preempted_queries,
            counted_preempted_hits=counters.preempted_hits,
        )
