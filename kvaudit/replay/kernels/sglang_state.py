"""State of SGLang's compiled scheduler: of each request, of the pool, and who stands where."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import compiled, inner

WAITING, RUNNING, LAST, PENDING, CHOSEN = range(5)
"""Rows of the lists: who waits, who runs, the step before, its copy, and who joins a prefill."""
NOBODY = -1
(
    CAPACITY,
    PAGE,
    POLICY,
    KEEPS_AGE,
    COUNTS,
    PLACES,
    CHUNK_TOKENS,
    PREFILL_TOKENS,
    SORTS,
    RESERVES_PAGE,
    ASKS_PAGE,
    CHUNK_WAITS,
    CAPS_PREFILL,
    SORTS_REUSABLE,
    SHORTFALL,
    SETTINGS,
) = range(16)
(
    USED,
    PEAK,
    PEAK_USED,
    PEAK_RUNNING,
    RETRACTIONS,
    STEPS,
    FULL,
    CHUNKED,
    LAST_CHUNKED,
    LAST_PREFILLS,
    PENDING_PREFILLS,
    NOW,
    COMING,
    TALLIES,
) = range(14)
RATIO, RESERVED, USED_TIME, MEASURES = range(4)


class Asked(NamedTuple):
    """What the log asks, by request."""

    runs: NDArray[np.int64]
    """Where the runs of its pages begin."""
    pages: NDArray[np.int64]
    prompt: NDArray[np.int64]
    outputs: NDArray[np.int64]
    heads: NDArray[np.int64]
    priority: NDArray[np.int64]
    arrivals: NDArray[np.int64]
    fits: NDArray[np.bool_]


class State(NamedTuple):
    """`models.sglang_request.Running`, by request, and the scheduler's own figures."""

    done: NDArray[np.int64]
    committed: NDArray[np.int64]
    prefix: NDArray[np.int64]
    owned: NDArray[np.int64]
    node: NDArray[np.int64]
    chunks: NDArray[np.int64]
    ended: NDArray[np.bool_]
    retracted: NDArray[np.bool_]
    joins: NDArray[np.bool_]
    """Whether it was chosen for the prefill that is being filled."""
    cached: NDArray[np.int64]
    """-1 before it is admitted."""
    resumed: NDArray[np.int64]
    evicted: NDArray[np.int64]
    held: NDArray[np.int64]
    met: NDArray[np.int64]
    started: NDArray[np.float64]
    first_token: NDArray[np.float64]
    finished: NDArray[np.float64]
    lists: NDArray[np.int64]
    """Requests by list and place."""
    lengths: NDArray[np.int64]
    """Of each list."""
    tallies: NDArray[np.int64]
    measures: NDArray[np.float64]
    settings: NDArray[np.int64]


def empty_state(requests: int, settings: NDArray[np.int64], ratio: float) -> State:
    """Return the state of an engine to which nobody came yet."""
    zeros, never = np.zeros((8, requests), np.int64), np.full((3, requests), np.nan)
    tallies, measures = np.zeros(TALLIES, np.int64), np.zeros(MEASURES)
    tallies[CHUNKED] = tallies[LAST_CHUNKED] = NOBODY
    measures[RATIO] = ratio
    return State(
        done=zeros[0],
        committed=zeros[1],
        prefix=zeros[2],
        owned=zeros[3],
        node=np.full(requests, NOBODY, np.int64),
        chunks=zeros[4],
        ended=np.zeros(requests, np.bool_),
        retracted=np.zeros(requests, np.bool_),
        joins=np.zeros(requests, np.bool_),
        cached=np.full(requests, -1, np.int64),
        resumed=zeros[5],
        evicted=zeros[6],
        held=zeros[7],
        met=np.zeros(requests, np.int64),
        started=never[0],
        first_token=never[1],
        finished=never[2],
        lists=np.zeros((5, max(1, requests)), np.int64),
        lengths=np.zeros(5, np.int64),
        tallies=tallies,
        measures=measures,
        settings=settings,
    )


@inner
def put(state: State, row: int, request: int) -> None:
    """Add a request at the end of a list."""
    state.lists[row, state.lengths[row]] = request
    state.lengths[row] += 1


@compiled
def copy_list(state: State, source: int, target: int) -> None:
    """Make one list the same as another."""
    length = state.lengths[source]
    state.lists[target, :length] = state.lists[source, :length]
    state.lengths[target] = length


@inner
def drop_marked(state: State, row: int, marks: NDArray[np.bool_]) -> None:
    """Take the requests that are marked out of a list."""
    kept = 0
    for place in range(state.lengths[row]):
        request = state.lists[row, place]
        if not marks[request]:
            state.lists[row, kept] = request
            kept += 1
    state.lengths[row] = kept


@inner
def pages_of(state: State, tokens: int) -> int:
    """Return the pages that so many tokens take."""
    return int(-(-tokens // state.settings[PAGE]))
