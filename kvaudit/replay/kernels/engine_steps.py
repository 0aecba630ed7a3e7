"""The steps of vLLM's engine, compiled: who comes, who is let in, who leaves."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from kvaudit.cost.steps import StepCost
from kvaudit.replay.kernels.block_pool import FREE, HELD, Pool, new_pool
from kvaudit.replay.kernels.block_tables import allocate, release
from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.kernels.engine_running import go_on
from kvaudit.replay.kernels.engine_state import (
    BUDGET,
    BUSY_TIME,
    COMING,
    ENDED,
    HITS,
    QUERIES,
    RUNNING,
    SCHEDULED,
    SLOTS,
    STEPS,
    USED_TIME,
    WAITS,
    Limits,
    Queue,
    Requests,
    Step,
    new_step,
    note_peaks,
    schedule,
)
from kvaudit.replay.kernels.group_lookup import lookup
from kvaudit.replay.kernels.kv_layers import Layers, Work, could_fit
from kvaudit.replay.kernels.state_chunks import state_share
from kvaudit.replay.kernels.step_cost import decode_part_s, prefill_part_s, step_s


@compiled
def _arrive(
    pool: Pool,
    layers: Layers,
    work: Work,
    limits: Limits,
    requests: Requests,
    step: Step,
    waiting: Queue,
    now: float,
) -> None:
    """Let those wait that have come; what could never be admitted is left out."""
    counts = step.counts
    while counts[COMING] < len(work.tokens) and requests.arrived[counts[COMING]] <= now:
        if limits.in_order and (len(waiting) > 0 or counts[RUNNING] > 0):
            break
        coming = counts[COMING]
        requests.held[coming] = pool.counts[HELD]
        requests.met[coming] = limits.capacity - pool.counts[FREE]
        if could_fit(layers, limits.capacity, work.tokens[coming]):
            rank = requests.priority[coming] if limits.by_priority else coming
            heapq.heappush(waiting, (rank, coming))
        counts[COMING] += 1


@compiled
def _admit(
    pool: Pool,
    layers: Layers,
    work: Work,
    limits: Limits,
    requests: Requests,
    step: Step,
    waiting: Queue,
    tallies: NDArray[np.int64],
    threshold: int,
    now: float,
) -> None:
    """Let those that wait in, as many as the step and the pool have room for."""
    counts = step.counts
    while len(waiting) > 0 and counts[BUDGET] > 0 and counts[RUNNING] < limits.seqs:
        request = waiting[0][1]
        tokens = work.tokens[request]
        hit, junction = lookup(pool, layers, work, request)
        apart = 2 if requests.preemptions[request] > 0 and limits.counts_resumed_apart else 0
        if limits.counts_retries:
            tallies[QUERIES + apart] += tokens
            tallies[HITS + apart] += hit
        share = tokens - hit
        if threshold > 0:
            share = min(share, threshold)
        whole_share = min(share, counts[BUDGET])
        share = state_share(
            limits.chunking,
            hit,
            whole_share,
            work.prompt_tokens[request],
            tokens,
            junction,
            True,
        )
        if share == 0 and whole_share > 0:
            break  # too little is left of this step for a state to be kept
        work.junction[request] = junction
        keep_free = limits.watermark_blocks if counts[RUNNING] > 0 else 0
        slot = step.slots[counts[SLOTS] - 1]
        whole = limits.whole_fits
        if not allocate(pool, layers, work, request, share, hit, slot, keep_free, whole):
            if counts[RUNNING] > 0:
                break
            heapq.heappop(waiting)
            step.ended[counts[ENDED]] = request
            counts[ENDED] += 1
            continue
        heapq.heappop(waiting)
        counts[SLOTS] -= 1
        if not limits.counts_retries:
            tallies[QUERIES + apart] += tokens
            tallies[HITS + apart] += hit
        step.running[counts[RUNNING]] = request
        counts[RUNNING] += 1
        work.computed[request] = hit
        step.decoding[request] = False
        if requests.cached[request] == WAITS:
            requests.cached[request] = hit
            requests.started[request] = now
        else:
            requests.resumed[request] += hit
        schedule(counts, step.request, step.tokens, request, share)


@compiled
def _seconds(work: Work, step: Step, time: StepCost) -> float:
    """Return how long the step lasts."""
    compute_s = 0.0
    new_tokens = in_view = 0
    for entry in range(step.counts[SCHEDULED]):
        request, share = step.request[entry], step.tokens[entry]
        before = work.computed[request]
        if share == 1 and before >= work.prompt_tokens[request]:
            compute_s += decode_part_s(time, before)
        else:
            ends = before + share == work.tokens[request]
            compute_s += prefill_part_s(time, share, before, ends)
        new_tokens += share
        in_view += before + share
    lasts: float = step_s(time, compute_s, new_tokens, in_view)
    return lasts


@compiled
def _finish(
    pool: Pool, layers: Layers, work: Work, requests: Requests, step: Step, now: float
) -> None:
    """Count what the step computed; those that have all their tokens leave."""
    counts = step.counts
    for entry in range(counts[ENDED]):
        requests.ended[step.ended[entry]] = now
    gone = False
    for entry in range(counts[SCHEDULED]):
        request = step.request[entry]
        work.computed[request] += step.tokens[entry]
        if work.computed[request] < work.tokens[request]:
            continue
        work.tokens[request] += 1
        made = work.tokens[request] - work.prompt_tokens[request]
        if made == 1:
            requests.first_token[request] = now
        if made >= requests.output_tokens[request]:
            step.slots[counts[SLOTS]] = work.slot[request]
            counts[SLOTS] += 1
            release(pool, layers, work, request)
            requests.held[request] = pool.counts[HELD]
            requests.ended[request] = now
            gone = True
    if gone:
        staying = 0
        for place in range(counts[RUNNING]):
            if work.slot[step.running[place]] >= 0:
                step.running[staying] = step.running[place]
                staying += 1
        counts[RUNNING] = staying


@compiled
def serve(
    work: Work,
    layers: Layers,
    limits: Limits,
    requests: Requests,
    keys: int,
    timed: bool,
    time: StepCost,
    tallies: NDArray[np.int64],
    clocks: NDArray[np.float64],
) -> None:
    """Serve all requests; fills what ``work``, ``requests``, ``tallies`` and ``clocks`` hold."""
    pool = new_pool(limits.capacity, keys)
    count = len(work.tokens)
    step = new_step(limits.seqs, count)
    counts = step.counts
    # First come, first served: the later preempted the earlier, and all before the others.
    waiting = [(np.int64(0), np.int64(0))]
    waiting.pop()
    now = 0.0
    while counts[COMING] < count or len(waiting) > 0 or counts[RUNNING] > 0:
        if len(waiting) == 0 and counts[RUNNING] == 0:
            now = max(now, requests.arrived[counts[COMING]])
        _arrive(pool, layers, work, limits, requests, step, waiting, now)
        if len(waiting) == 0 and counts[RUNNING] == 0:
            continue
        work.step[0] += 1
        threshold = limits.threshold
        if limits.long_prefill_alone and counts[RUNNING] + len(waiting) <= 1:
            threshold = 0
        counts[SCHEDULED] = counts[ENDED] = 0
        counts[BUDGET] = limits.budget
        if not go_on(pool, layers, work, limits, requests, step, waiting, tallies, threshold):
            _admit(pool, layers, work, limits, requests, step, waiting, tallies, threshold, now)
        used = limits.capacity - pool.counts[FREE]
        note_peaks(pool, limits.capacity, counts[RUNNING], tallies)
        tallies[STEPS] += 1
        lasts = _seconds(work, step, time) if timed else 1.0
        clocks[USED_TIME] += used * lasts
        clocks[BUSY_TIME] += lasts
        now += lasts
        _finish(pool, layers, work, requests, step, now)
