"""vLLM with its scheduler, compiled; `kvaudit.replay.models.engine_run` is what it must equal."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.cost.steps import StepCost
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.kernels.block_pool import EMPTY, FREE, HELD, Pool, new_pool
from kvaudit.replay.kernels.block_tables import allocate, release
from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.kernels.group_lookup import lookup
from kvaudit.replay.kernels.kv_layers import (
    Layers,
    Work,
    could_fit,
    keeps_all,
    layers_of,
    work_of,
)
from kvaudit.replay.kernels.state_chunks import Chunking, chunking_of, state_share
from kvaudit.replay.kernels.step_cost import decode_part_s, prefill_part_s, step_s
from kvaudit.replay.models.engine_run import EngineSetup
from kvaudit.replay.models.vllm_releases import Preemption
from kvaudit.replay.outcomes import CacheOutcome, EngineActivity

_WAITS = -1
"""The hit of a request that was not admitted yet."""
_QUERIES, _HITS, _RESUMED_QUERIES, _RESUMED_HITS, _PREEMPTIONS = 0, 1, 2, 3, 4
_STEPS, _PEAK_BLOCKS, _PEAK_USED, _PEAK_RUNNING, _TALLIES = 5, 6, 7, 8, 9
_NOW, _USED_TIME, _BUSY_TIME, _CLOCKS = 0, 1, 2, 3


_NONE = StepCost(
    *(0.0, 0.0, 0.0, 0.0),
    *(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0)),
    *(0.0, 0.0, 0.0, 0.0, 0.0),
)
"""Stands for the cost of steps that all last 1."""


class _Limits(NamedTuple):
    """What a step may hold, and the rules of a release that concern it."""

    capacity: int
    budget: int
    seqs: int
    by_priority: bool
    threshold: int
    watermark_blocks: int
    ends_preempted: bool
    in_order: bool
    whole_fits: bool
    long_prefill_alone: bool
    any_victim: bool
    counts_retries: bool
    counts_resumed_apart: bool
    chunking: Chunking
    plain: bool
    """Whether all layers look at everything, so that a decode inside a block changes nothing."""


class _Requests(NamedTuple):
    """By request: what else is known of it, and what becomes of it."""

    output_tokens: NDArray[np.int64]
    arrived: NDArray[np.float64]
    priority: NDArray[np.int64]
    cached: NDArray[np.int64]
    resumed: NDArray[np.int64]
    preemptions: NDArray[np.int64]
    tried_alone: NDArray[np.int64]
    held: NDArray[np.int64]
    met: NDArray[np.int64]
    started: NDArray[np.float64]
    first_token: NDArray[np.float64]
    ended: NDArray[np.float64]


class CompiledEngineRun:
    """`EngineRun` for large logs.

    Holds 28 bytes a block of the capacity, 8 bytes a distinct block a group, and 150 bytes a
    request.
    """

    def __init__(self, setup: EngineSetup) -> None:
        """Take what the reference takes."""
        self.setup = setup

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve all requests of the log, given as one batch in order of arrival."""
        setup = self.setup
        layers = layers_of(setup.layout, setup.rules)
        limits = self._limits(setup.pool_blocks(prompts), len(prompts.prompt_tokens))
        work = work_of(prompts, blocks, layers, limits.seqs)
        requests = _requests(prompts, setup.arrivals(prompts))
        keys = (int(blocks.keys.max(initial=-1)) + 1) * len(layers.kind)
        tallies, clocks = np.zeros(_TALLIES, np.int64), np.zeros(_CLOCKS)
        timed = setup.time is not None
        _serve(work, layers, limits, requests, keys, timed, setup.time or _NONE, tallies, clocks)
        cached = np.maximum(requests.cached, 0)
        busy = float(clocks[_BUSY_TIME])
        return CacheOutcome(
            cached_tokens=cached,
            hit_blocks=cached // setup.layout.block_size,
            admitted=requests.cached != _WAITS,
            evicted_blocks=work.evicted,
            held_blocks=requests.held,
            peak_blocks=int(tallies[_PEAK_BLOCKS]),
            resumed_cached_tokens=requests.resumed,
            activity=EngineActivity(
                arrived=requests.arrived,
                started=requests.started,
                first_token=requests.first_token,
                ended=requests.ended,
                met_blocks=requests.met,
                steps=int(tallies[_STEPS]),
                preemptions=int(tallies[_PREEMPTIONS]),
                peak_running=int(tallies[_PEAK_RUNNING]),
                peak_used_blocks=int(tallies[_PEAK_USED]),
                mean_used_blocks=float(clocks[_USED_TIME]) / busy if busy else 0.0,
                counted_queries=int(tallies[_QUERIES]),
                counted_hits=int(tallies[_HITS]),
                counted_preempted_queries=int(tallies[_RESUMED_QUERIES]),
                counted_preempted_hits=int(tallies[_RESUMED_HITS]),
            ),
        )

    def _limits(self, capacity: int, requests: int) -> _Limits:
        limits, rules = self.setup.limits, self.setup.rules
        return _Limits(
            capacity=capacity,
            budget=limits.max_num_batched_tokens,
            seqs=min(limits.max_num_seqs, max(requests, 1)),
            by_priority=limits.by_priority,
            threshold=limits.long_prefill_tokens,
            watermark_blocks=int(limits.watermark * (capacity + 1)) if rules.watermark else 0,
            ends_preempted=limits.ends_preempted,
            in_order=self.setup.in_order,
            whole_fits=rules.whole_prompt_fits,
            long_prefill_alone=rules.long_prefill_alone,
            any_victim=rules.preemption is Preemption.ANY_VICTIM,
            counts_retries=rules.counts_retries,
            counts_resumed_apart=rules.counts_resumed_apart,
            chunking=chunking_of(
                rules,
                aligns=self.setup.layout.aligns_states,
                block_size=self.setup.layout.block_size,
                eagle=self.setup.layout.eagle,
                most_tokens=min(
                    limits.max_num_batched_tokens,
                    limits.long_prefill_tokens or limits.max_num_batched_tokens,
                ),
            ),
            plain=self.setup.layout.all_full,
        )


def _requests(prompts: PromptBatch, arrived: NDArray[np.float64]) -> _Requests:
    count = len(prompts.prompt_tokens)
    priorities = [facts.priority or 0 for facts in prompts.requests] or [0] * count
    return _Requests(
        output_tokens=np.maximum(prompts.output_tokens, 1),
        arrived=arrived,
        priority=np.array(priorities, np.int64),
        cached=np.full(count, _WAITS, np.int64),
        resumed=np.zeros(count, np.int64),
        preemptions=np.zeros(count, np.int64),
        tried_alone=np.zeros(count, np.int64),
        held=np.zeros(count, np.int64),
        met=np.zeros(count, np.int64),
        started=np.full(count, np.nan),
        first_token=np.full(count, np.nan),
        ended=np.full(count, np.nan),
    )


@compiled
def _note_peaks(pool: Pool, capacity: int, running: int, tallies: NDArray[np.int64]) -> None:
    tallies[_PEAK_BLOCKS] = max(tallies[_PEAK_BLOCKS], capacity - pool.counts[EMPTY])
    tallies[_PEAK_USED] = max(tallies[_PEAK_USED], capacity - pool.counts[FREE])
    tallies[_PEAK_RUNNING] = max(tallies[_PEAK_RUNNING], running)


@compiled
def _serve(
    work: Work,
    layers: Layers,
    limits: _Limits,
    requests: _Requests,
    keys: int,
    timed: bool,
    time: StepCost,
    tallies: NDArray[np.int64],
    clocks: NDArray[np.float64],
) -> None:
    pool = new_pool(limits.capacity, keys)
    size, capacity, seqs = layers.block_size, limits.capacity, limits.seqs
    tokens, computed = work.tokens, work.computed
    count = len(tokens)
    running = np.empty(seqs, np.int64)
    step_request = np.empty(seqs, np.int64)
    step_tokens = np.empty(seqs, np.int64)
    slots = np.arange(seqs)[::-1].copy()  # those that are free, the next one last
    ended = np.empty(count, np.int64)
    decoding = np.zeros(count, np.bool_)
    running_count, slot_count, coming = 0, seqs, 0
    # First come, first served: the later preempted the earlier, and all before the others.
    waiting = [(np.int64(0), np.int64(0))]
    waiting.pop()
    now = 0.0
    while coming < count or len(waiting) > 0 or running_count > 0:
        if len(waiting) == 0 and running_count == 0:
            now = max(now, requests.arrived[coming])
        while coming < count and requests.arrived[coming] <= now:
            if limits.in_order and (len(waiting) > 0 or running_count > 0):
                break
            requests.held[coming] = pool.counts[HELD]
            requests.met[coming] = capacity - pool.counts[FREE]
            if could_fit(layers, capacity, tokens[coming]):
                rank = requests.priority[coming] if limits.by_priority else np.int64(coming)
                heapq.heappush(waiting, (rank, np.int64(coming)))
            coming += 1
        if len(waiting) == 0 and running_count == 0:
            continue
        work.step[0] += 1
        budget, threshold = limits.budget, limits.threshold
        if limits.long_prefill_alone and running_count + len(waiting) <= 1:
            threshold = 0
        scheduled = ended_count = index = 0
        preempted = False
        while index < running_count and budget > 0:
            request = running[index]
            share = tokens[request] - computed[request]
            if threshold > 0:
                share = min(share, threshold)
            share = state_share(
                limits.chunking,
                computed[request],
                min(share, budget),
                work.prompt_tokens[request],
                tokens[request],
                work.junction[request],
                False,
            )
            if share == 0:
                index += 1
                continue
            end = computed[request] + share
            # A decode that neither begins nor fills a block needs nothing, and gives up nothing
            # if the decode before it already did and no window leaves a block behind.
            placed = share == 1 and computed[request] % size > 0 and end % size > 0
            if placed and not limits.plain:
                placed = decoding[request] and keeps_all(layers, computed[request])
            while not placed:
                placed = allocate(pool, layers, work, request, share, -1, -1, 0, False)
                if placed:
                    decoding[request] = share == 1
                    break
                _note_peaks(pool, capacity, running_count, tallies)
                preempted = True
                place = running_count - 1
                if limits.by_priority:
                    for other in range(running_count):
                        one, best = running[other], running[place]
                        if (requests.priority[one], one) > (requests.priority[best], best):
                            place = other
                victim = running[place]
                for later in range(place, running_count - 1):
                    running[later] = running[later + 1]
                running_count -= 1
                spent = False
                for entry in range(scheduled):
                    if step_request[entry] == victim:
                        spent = True
                        budget += step_tokens[entry]
                    elif spent:
                        step_request[entry - 1] = step_request[entry]
                        step_tokens[entry - 1] = step_tokens[entry]
                if spent:
                    scheduled -= 1
                if spent or (place < index and limits.any_victim):
                    index -= 1
                tallies[_PREEMPTIONS] += 1
                requests.preemptions[victim] += 1
                slots[slot_count] = work.slot[victim]
                slot_count += 1
                release(pool, layers, work, victim)
                requests.held[victim] = pool.counts[HELD]
                stuck = running_count == 0 and requests.tried_alone[victim] == tokens[victim]
                if running_count == 0:
                    requests.tried_alone[victim] = tokens[victim]
                fits = could_fit(layers, capacity, tokens[victim])
                if stuck or limits.ends_preempted or not fits:
                    ended[ended_count] = victim
                    ended_count += 1
                else:
                    rank = -tallies[_PREEMPTIONS]
                    if limits.by_priority:
                        rank = requests.priority[victim]
                    heapq.heappush(waiting, (rank, victim))
                if victim == request:
                    break
            if placed:
                step_request[scheduled] = request
                step_tokens[scheduled] = share
                scheduled += 1
                budget -= share
                index += 1
            elif not (limits.by_priority and limits.any_victim):
                break
        while len(waiting) > 0 and not preempted and budget > 0 and running_count < seqs:
            request = waiting[0][1]
            hit, junction = lookup(pool, layers, work, request)
            apart = 2 if requests.preemptions[request] > 0 and limits.counts_resumed_apart else 0
            if limits.counts_retries:
                tallies[_QUERIES + apart] += tokens[request]
                tallies[_HITS + apart] += hit
            share = tokens[request] - hit
            if threshold > 0:
                share = min(share, threshold)
            whole_share = min(share, budget)
            share = state_share(
                limits.chunking,
                hit,
                whole_share,
                work.prompt_tokens[request],
                tokens[request],
                junction,
                True,
            )
            if share == 0 and whole_share > 0:
                break  # too little is left of this step for a state to be kept
            work.junction[request] = junction
            keep_free = limits.watermark_blocks if running_count > 0 else 0
            slot = slots[slot_count - 1]
            whole = limits.whole_fits
            if not allocate(pool, layers, work, request, share, hit, slot, keep_free, whole):
                if running_count > 0:
                    break
                heapq.heappop(waiting)
                ended[ended_count] = request
                ended_count += 1
                continue
            heapq.heappop(waiting)
            slot_count -= 1
            if not limits.counts_retries:
                tallies[_QUERIES + apart] += tokens[request]
                tallies[_HITS + apart] += hit
            running[running_count] = request
            running_count += 1
            computed[request] = hit
            decoding[request] = False
            if requests.cached[request] == _WAITS:
                requests.cached[request] = hit
                requests.started[request] = now
            else:
                requests.resumed[request] += hit
            step_request[scheduled] = request
            step_tokens[scheduled] = share
            scheduled += 1
            budget -= share
        used = capacity - pool.counts[FREE]
        _note_peaks(pool, capacity, running_count, tallies)
        tallies[_STEPS] += 1
        lasts = 1.0
        if timed:
            compute_s = 0.0
            new_tokens = in_view = 0
            for entry in range(scheduled):
                request, share = step_request[entry], step_tokens[entry]
                before = computed[request]
                if share == 1 and before >= work.prompt_tokens[request]:
                    compute_s += decode_part_s(time, before)
                else:
                    ends = before + share == tokens[request]
                    compute_s += prefill_part_s(time, share, before, ends)
                new_tokens += share
                in_view += before + share
            lasts = step_s(time, compute_s, new_tokens, in_view)
        clocks[_USED_TIME] += used * lasts
        clocks[_BUSY_TIME] += lasts
        now += lasts
        for entry in range(ended_count):
            requests.ended[ended[entry]] = now
        gone = False
        for entry in range(scheduled):
            request = step_request[entry]
            computed[request] += step_tokens[entry]
            if computed[request] < tokens[request]:
                continue
            tokens[request] += 1
            made = tokens[request] - work.prompt_tokens[request]
            if made == 1:
                requests.first_token[request] = now
            if made >= requests.output_tokens[request]:
                slots[slot_count] = work.slot[request]
                slot_count += 1
                release(pool, layers, work, request)
                requests.held[request] = pool.counts[HELD]
                requests.ended[request] = now
                gone = True
        if gone:
            staying = 0
            for place in range(running_count):
                if work.slot[running[place]] >= 0:
                    running[staying] = running[place]
                    staying += 1
            running_count = staying
