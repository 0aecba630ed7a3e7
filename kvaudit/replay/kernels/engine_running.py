"""What running requests do in a step of vLLM's engine, compiled: go on, or give way."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.block_pool import HELD, Pool
from kvaudit.replay.kernels.block_tables import allocate, release
from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.kernels.engine_state import (
    BUDGET,
    ENDED,
    PREEMPTIONS,
    RUNNING,
    SLOTS,
    Limits,
    Queue,
    Requests,
    Step,
    note_peaks,
    schedule,
    unschedule,
)
from kvaudit.replay.kernels.kv_layers import Layers, Work, could_fit, keeps_all
from kvaudit.replay.kernels.state_chunks import state_share


@compiled
def _victim_place(limits: Limits, requests: Requests, step: Step) -> int:
    """Return which of the running gives way: the newest, or the one of the least priority."""
    place: int = step.counts[RUNNING] - 1
    if limits.by_priority:
        for other in range(step.counts[RUNNING]):
            one, best = step.running[other], step.running[place]
            if (requests.priority[one], one) > (requests.priority[best], best):
                place = other
    return place


@compiled
def _preempt(
    pool: Pool,
    layers: Layers,
    work: Work,
    limits: Limits,
    requests: Requests,
    step: Step,
    waiting: Queue,
    tallies: NDArray[np.int64],
    place: int,
) -> bool:
    """Take the blocks of a running request; return whether this step had given it tokens."""
    counts = step.counts
    victim = step.running[place]
    for later in range(place, counts[RUNNING] - 1):
        step.running[later] = step.running[later + 1]
    counts[RUNNING] -= 1
    spent: bool = unschedule(step, victim)
    tallies[PREEMPTIONS] += 1
    requests.preemptions[victim] += 1
    step.slots[counts[SLOTS]] = work.slot[victim]
    counts[SLOTS] += 1
    release(pool, layers, work, victim)
    requests.held[victim] = pool.counts[HELD]
    tokens = work.tokens[victim]
    stuck = counts[RUNNING] == 0 and requests.tried_alone[victim] == tokens
    if counts[RUNNING] == 0:
        requests.tried_alone[victim] = tokens
    if stuck or limits.ends_preempted or not could_fit(layers, limits.capacity, tokens):
        step.ended[counts[ENDED]] = victim
        counts[ENDED] += 1
    else:
        rank = requests.priority[victim] if limits.by_priority else -tallies[PREEMPTIONS]
        heapq.heappush(waiting, (rank, victim))
    return spent


@compiled
def go_on(
    pool: Pool,
    layers: Layers,
    work: Work,
    limits: Limits,
    requests: Requests,
    step: Step,
    waiting: Queue,
    tallies: NDArray[np.int64],
    threshold: int,
) -> bool:
    """Give tokens to those that run; return whether somebody had to give way."""
    counts, size = step.counts, layers.block_size
    index = 0
    preempted = False
    while index < counts[RUNNING] and counts[BUDGET] > 0:
        request = step.running[index]
        computed = work.computed[request]
        share = work.tokens[request] - computed
        if threshold > 0:
            share = min(share, threshold)
        share = state_share(
            limits.chunking,
            computed,
            min(share, counts[BUDGET]),
            work.prompt_tokens[request],
            work.tokens[request],
            work.junction[request],
            False,
        )
        if share == 0:
            index += 1
            continue
        # A decode that neither begins nor fills a block needs nothing, and gives up nothing if
        # the decode before it already did and no window leaves a block behind. This stands here
        # because a call costs more: it counts the references of every array it is given.
        placed = share == 1 and computed % size > 0 and (computed + 1) % size > 0
        if placed and not limits.plain:
            placed = step.decoding[request] and keeps_all(layers, computed)
        while not placed:
            placed = allocate(pool, layers, work, request, share, -1, -1, 0, False)
            if placed:
                step.decoding[request] = share == 1
                break
            note_peaks(pool, limits.capacity, counts[RUNNING], tallies)
            preempted = True
            place = _victim_place(limits, requests, step)
            victim = step.running[place]
            spent = _preempt(pool, layers, work, limits, requests, step, waiting, tallies, place)
            if spent or (place < index and limits.any_victim):
                index -= 1
            if victim == request:
                break
        if placed:
            schedule(counts, step.request, step.tokens, request, share)
            index += 1
        elif not (limits.by_priority and limits.any_victim):
            break
    return preempted
