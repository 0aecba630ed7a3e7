"""Decode steps of SGLang, and who gives way, compiled; `models.sglang_steps` is their twin."""

from __future__ import annotations

from kvaudit.replay.kernels.compiled import inner
from kvaudit.replay.kernels.radix_tree import Tree, release
from kvaudit.replay.kernels.sglang_pool import make_room, use
from kvaudit.replay.kernels.sglang_state import (
    CAPACITY,
    FULL,
    NOBODY,
    PAGE,
    POLICY,
    RATIO,
    RETRACTIONS,
    RUNNING,
    USED,
    WAITING,
    Asked,
    State,
    drop_marked,
    pages_of,
    put,
)
from kvaudit.replay.models.sglang_queue import MIN_RATIO, RATIO_DECAY, RETRACT_STEPS


@inner
def decode(tree: Tree, state: State, asked: Asked) -> None:
    """Let those that run go on by a token, or some of them give way."""
    tallies, before = state.tallies, state.lengths[RUNNING]
    drop_marked(state, RUNNING, state.ended)
    if state.lengths[RUNNING] > 0:
        if _next_decode_fits(tree, state):
            state.measures[RATIO] = max(state.measures[RATIO] - RATIO_DECAY, MIN_RATIO)
        else:
            _retract(tree, state, asked)
    count = state.lengths[RUNNING]
    if count < before:
        tallies[FULL] = 0
    if count == 0:
        return
    page = state.settings[PAGE]
    make_room(tree, state, count * page, state.lists[RUNNING, 0])
    for place in range(count):
        request = state.lists[RUNNING, place]
        use(state, 1 if state.committed[request] % page == 0 else 0)
        state.committed[request] += 1


@inner
def _next_decode_fits(tree: Tree, state: State) -> bool:
    pages, page = 0, state.settings[PAGE]
    for place in range(state.lengths[RUNNING]):
        pages += 1 if state.committed[state.lists[RUNNING, place]] % page == 0 else 0
    first = state.lists[RUNNING, 0] if state.lengths[RUNNING] > 0 else NOBODY
    make_room(tree, state, pages * page, first)
    return bool(state.settings[CAPACITY] - state.tallies[USED] >= pages)


@inner
def _retract(tree: Tree, state: State, asked: Asked) -> None:
    """Let who generated least give way and wait again, until the next step fits."""
    _sort_running(state, asked)
    first = True
    while first or not _next_decode_fits(tree, state):
        if state.lengths[RUNNING] == 1:
            break
        first = False
        state.lengths[RUNNING] -= 1
        gone = state.lists[RUNNING, state.lengths[RUNNING]]
        _give_way(tree, state, gone)
        put(state, WAITING, gone)
    if state.lengths[RUNNING] <= 1 and not _next_decode_fits(tree, state):
        state.lengths[RUNNING] -= 1
        last = state.lists[RUNNING, state.lengths[RUNNING]]
        _give_way(tree, state, last)
        state.ended[last] = True
    done = wanted = 0
    for place in range(state.lengths[RUNNING]):
        done += state.done[state.lists[RUNNING, place]]
        wanted += asked.outputs[state.lists[RUNNING, place]]
    done += RETRACT_STEPS * state.lengths[RUNNING]
    state.measures[RATIO] = min(1.0, done / (wanted + 1))


@inner
def _sort_running(state: State, asked: Asked) -> None:
    """Most output first, then the shortest prompt; stable."""
    running = state.lists[RUNNING]
    for place in range(1, state.lengths[RUNNING]):
        request, at = running[place], place
        while at > 0:
            other = running[at - 1]
            if state.done[other] > state.done[request]:
                break
            same = state.done[other] == state.done[request]
            if same and asked.prompt[other] <= asked.prompt[request]:
                break
            running[at] = other
            at -= 1
        running[at] = request


@inner
def _give_way(tree: Tree, state: State, request: int) -> None:
    """Free all of a request; nothing of it is inserted."""
    state.tallies[USED] -= pages_of(state, state.committed[request]) - state.owned[request]
    release(tree, state.node[request], state.settings[POLICY])
    make_room(tree, state, state.lengths[RUNNING] * RETRACT_STEPS, request)
    state.node[request], state.retracted[request], state.chunks[request] = NOBODY, True, 0
    state.prefix[request] = state.owned[request] = state.committed[request] = 0
    state.tallies[RETRACTIONS] += 1
