"""What the compiled engine of vLLM knows from step to step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.block_pool import EMPTY, FREE, Pool
from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.kernels.state_chunks import Chunking

WAITS = -1
"""The hit of a request that was not admitted yet."""
QUERIES, HITS, RESUMED_QUERIES, RESUMED_HITS, PREEMPTIONS = 0, 1, 2, 3, 4
STEPS, PEAK_BLOCKS, PEAK_USED, PEAK_RUNNING, TALLIES = 5, 6, 7, 8, 9
USED_TIME, BUSY_TIME, CLOCKS = 0, 1, 2

RUNNING, SLOTS, COMING, SCHEDULED, ENDED, BUDGET, COUNTS = range(7)
"""Counts of a step."""

Queue = list[tuple[int, int]]
"""Ranks and requests, as a heap."""


class Limits(NamedTuple):
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


class Requests(NamedTuple):
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


class Step(NamedTuple):
    """Who runs, and what the step that is being put together holds."""

    counts: NDArray[np.int64]
    """How much of the others is used, what is left of the budget, and who comes next."""
    running: NDArray[np.int64]
    slots: NDArray[np.int64]
    """Those that are free, the next one last."""
    request: NDArray[np.int64]
    """By entry of the step, as ``tokens`` is."""
    tokens: NDArray[np.int64]
    ended: NDArray[np.int64]
    decoding: NDArray[np.bool_]
    """By request: whether what it got last was the room for a decode."""


@compiled
def note_peaks(pool: Pool, capacity: int, running: int, tallies: NDArray[np.int64]) -> None:
    """Note how full the pool is and how many run, where there were never more."""
    tallies[PEAK_BLOCKS] = max(tallies[PEAK_BLOCKS], capacity - pool.counts[EMPTY])
    tallies[PEAK_USED] = max(tallies[PEAK_USED], capacity - pool.counts[FREE])
    tallies[PEAK_RUNNING] = max(tallies[PEAK_RUNNING], running)


@compiled
def new_step(seqs: int, count: int) -> Step:
    """Return a step in which nobody runs."""
    counts = np.zeros(COUNTS, np.int64)
    counts[SLOTS] = seqs
    return Step(
        counts,
        np.empty(seqs, np.int64),
        np.arange(seqs)[::-1].copy(),
        np.empty(seqs, np.int64),
        np.empty(seqs, np.int64),
        np.empty(count, np.int64),
        np.zeros(count, np.bool_),
    )


@compiled
def schedule(
    counts: NDArray[np.int64],
    requests: NDArray[np.int64],
    tokens: NDArray[np.int64],
    request: int,
    share: int,
) -> None:
    """Give tokens of the step to a request, given the arrays of a `Step`."""
    requests[counts[SCHEDULED]] = request
    tokens[counts[SCHEDULED]] = share
    counts[SCHEDULED] += 1
    counts[BUDGET] -= share


@compiled
def unschedule(step: Step, request: int) -> bool:
    """Take back what the step gave a request; False where that is nothing."""
    counts = step.counts
    found = False
    for entry in range(counts[SCHEDULED]):
        if step.request[entry] == request:
            found = True
            counts[BUDGET] += step.tokens[entry]
        elif found:
            step.request[entry - 1] = step.request[entry]
            step.tokens[entry - 1] = step.tokens[entry]
    if found:
        counts[SCHEDULED] -= 1
    return found
