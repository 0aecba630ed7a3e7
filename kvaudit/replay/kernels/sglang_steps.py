"""One step of SGLang's scheduler, compiled; `kvaudit.replay.models.sglang_steps` is its twin."""

from __future__ import annotations

import numpy as np

from kvaudit.replay.kernels.compiled import compiled, inner
from kvaudit.replay.kernels.radix_tree import EVICTABLE, Tree
from kvaudit.replay.kernels.sglang_decode import decode
from kvaudit.replay.kernels.sglang_pool import cache_unfinished, finish
from kvaudit.replay.kernels.sglang_prefill import choose_prefill
from kvaudit.replay.kernels.sglang_state import (
    CHOSEN,
    CHUNKED,
    FULL,
    LAST,
    LAST_CHUNKED,
    LAST_PREFILLS,
    NOBODY,
    NOW,
    PEAK_RUNNING,
    PEAK_USED,
    PENDING,
    PENDING_PREFILLS,
    RATIO,
    RUNNING,
    STEPS,
    USED,
    USED_TIME,
    WAITING,
    Asked,
    State,
    copy_list,
    put,
)
from kvaudit.replay.models.sglang_queue import INITIAL_RATIO


@inner
def is_busy(state: State) -> bool:
    """Return whether anybody waits, runs, or has a result that is not known."""
    lists = state.lengths[WAITING] + state.lengths[RUNNING] + state.lengths[LAST]
    return bool(lists > 0 or state.tallies[CHUNKED] != NOBODY)


@compiled
def step(tree: Tree, state: State, asked: Asked) -> None:
    """Choose a step, and take the results of the one before."""
    tallies = state.tallies
    had_results = state.lengths[PENDING] > 0
    if tallies[CHUNKED] != NOBODY:
        cache_unfinished(tree, state, asked, tallies[CHUNKED], True)
    if tallies[LAST_PREFILLS] == 1 and state.lengths[LAST] > 0:
        _merge(state)
    prefills = choose_prefill(tree, state, asked)
    if prefills:
        copy_list(state, CHOSEN, LAST)
    else:
        if state.lengths[RUNNING] > 0:
            decode(tree, state, asked)
        copy_list(state, RUNNING, LAST)
    tallies[LAST_PREFILLS] = prefills
    tallies[LAST_CHUNKED] = tallies[CHUNKED] if prefills else NOBODY
    if had_results:
        _take_results(tree, state, asked)
    elif state.lengths[LAST] == 0:
        state.measures[RATIO] = INITIAL_RATIO
    copy_list(state, LAST, PENDING)
    tallies[PENDING_PREFILLS] = prefills
    _note(tree, state)


@inner
def _note(tree: Tree, state: State) -> None:
    """Take down what a step did."""
    tallies, count = state.tallies, state.lengths[LAST]
    used = tallies[USED] - tree.totals[EVICTABLE]
    tallies[PEAK_USED] = max(tallies[PEAK_USED], used)
    tallies[PEAK_RUNNING] = max(tallies[PEAK_RUNNING], count)
    if count == 0:
        return
    tallies[STEPS] += 1
    state.measures[USED_TIME] += used
    for place in range(count):
        request = state.lists[LAST, place]
        if np.isnan(state.started[request]):
            state.started[request] = tallies[NOW]


@inner
def _merge(state: State) -> None:
    """Let those whose prefill is done run."""
    tallies, count = state.tallies, state.lengths[LAST]
    was_empty, stayed = state.lengths[RUNNING] == 0, 0
    for place in range(count):
        request = state.lists[LAST, place]
        gone = request == tallies[CHUNKED] or request == tallies[LAST_CHUNKED]
        if not state.ended[request] and not gone:
            put(state, RUNNING, request)
            stayed += 1
    if stayed < count or (was_empty and stayed > 0):
        tallies[FULL] = 0


@inner
def _take_results(tree: Tree, state: State, asked: Asked) -> None:
    prefills = state.tallies[PENDING_PREFILLS] == 1
    for place in range(state.lengths[PENDING]):
        request = state.lists[PENDING, place]
        if state.ended[request] or state.retracted[request]:
            continue
        if prefills and state.chunks[request] > 0:
            state.chunks[request] -= 1
            continue
        state.done[request] += 1
        if state.done[request] == 1:
            state.first_token[request] = state.tallies[NOW] + 1
        state.ended[request] = state.done[request] >= asked.outputs[request]
        if state.ended[request]:
            state.finished[request] = state.tallies[NOW] + 1
            finish(tree, state, asked, request)
        elif prefills:
            cache_unfinished(tree, state, asked, request, False)
