"""Who joins a prefill of SGLang, compiled; `kvaudit.replay.models.sglang_prefill` is its twin."""

from __future__ import annotations

import numpy as np

from kvaudit.replay.kernels.compiled import compiled, inner
from kvaudit.replay.kernels.radix_tree import HELD, Tree, hold, release
from kvaudit.replay.kernels.sglang_pool import look_up, make_room, room, use
from kvaudit.replay.kernels.sglang_state import (
    ASKS_PAGE,
    CAPS_PREFILL,
    CHOSEN,
    CHUNK_TOKENS,
    CHUNK_WAITS,
    CHUNKED,
    FULL,
    NOBODY,
    PAGE,
    PLACES,
    POLICY,
    PREFILL_TOKENS,
    RATIO,
    RESERVED,
    RESERVES_PAGE,
    RUNNING,
    SORTS,
    SORTS_REUSABLE,
    WAITING,
    Asked,
    State,
    drop_marked,
    pages_of,
    put,
)
from kvaudit.replay.models.sglang_queue import CLIP_NEW_TOKENS, HEAD_TOKENS, MOST_SORTED

_GOES_ON, _NO_TOKEN, _OTHER = range(3)
_TAKEN, _LEFT, _CHUNK_LEFT, _BUDGETS = range(4)


@compiled
def choose_prefill(tree: Tree, state: State, asked: Asked) -> bool:
    """Fill the list of those that join a prefill; return whether there is one."""
    tallies, page = state.tallies, state.settings[PAGE]
    state.lengths[CHOSEN] = 0
    if (tallies[FULL] == 1 or state.lengths[WAITING] == 0) and tallies[CHUNKED] == NOBODY:
        return False
    places = state.settings[PLACES] - state.lengths[RUNNING]
    goes_on = tallies[CHUNKED] != NOBODY
    if places <= 0 and goes_on == (state.settings[CHUNK_WAITS] == 1):
        tallies[FULL] = 1
        return False
    _sort(tree, state, asked)
    budget = np.zeros(_BUDGETS, np.int64)
    budget[_LEFT] = state.settings[PREFILL_TOKENS]
    budget[_CHUNK_LEFT] = state.settings[CHUNK_TOKENS]
    state.measures[RESERVED] = _reserved(state, asked)
    if tallies[CHUNKED] != NOBODY and not _add_chunk(tree, state, asked, budget):
        tallies[CHUNKED] = NOBODY
    for place in range(state.lengths[WAITING]):
        if state.lengths[CHOSEN] >= places:
            tallies[FULL] = 1
        if tallies[FULL] == 1:
            break
        request = state.lists[WAITING, place]
        look_up(tree, state, asked, request, asked.prompt[request] + state.done[request] - 1)
        stop = _add(tree, state, asked, budget, request)
        if stop != _GOES_ON:
            tallies[FULL] = 1 if stop == _NO_TOKEN else 0
            break
    if state.lengths[CHOSEN] == 0:
        return False
    drop_marked(state, WAITING, state.joins)
    for place in range(state.lengths[CHOSEN]):
        state.joins[state.lists[CHOSEN, place]] = False
    if tallies[CHUNKED] != NOBODY:
        state.chunks[tallies[CHUNKED]] += 1
    _extend(tree, state, page)
    return True


@inner
def _reserved(state: State, asked: Asked) -> float:
    total = 0.0
    for place in range(state.lengths[RUNNING]):
        request = state.lists[RUNNING, place]
        left = min(asked.outputs[request] - state.done[request], CLIP_NEW_TOKENS)
        total += left * state.measures[RATIO]
    return total


@compiled
def _sort(tree: Tree, state: State, asked: Asked) -> None:
    """Longest prefix first, and the second of equal heads last of all; stable."""
    count = state.lengths[WAITING]
    if state.settings[SORTS] == 0 or count > MOST_SORTED:
        return
    ranks, order = np.empty(count, np.int64), np.empty(count, np.int64)
    for place in range(count):
        request = state.lists[WAITING, place]
        order[place] = request
        length = asked.prompt[request] + state.done[request]
        look_up(tree, state, asked, request, length)
        most = length - state.settings[SORTS_REUSABLE]
        ranks[place] = -min(state.prefix[request], most)
        if state.prefix[request] <= HEAD_TOKENS and length >= HEAD_TOKENS:
            for before in range(place):
                other = order[before]
                if (
                    asked.heads[other] == asked.heads[request]
                    and state.prefix[other] <= HEAD_TOKENS
                    and asked.prompt[other] + state.done[other] >= HEAD_TOKENS
                ):
                    ranks[place] = 1
                    break
    for place, index in enumerate(np.argsort(ranks, kind="mergesort")):
        state.lists[WAITING, place] = order[index]


@inner
def _add_chunk(
    tree: Tree, state: State, asked: Asked, budget: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> bool:
    """Go on with a prefill; return whether that is not its end."""
    request = state.tallies[CHUNKED]
    rest = asked.prompt[request] + state.done[request] - state.prefix[request]
    # int() of a figure below 0 goes towards 0, and then the chunk has all of the step.
    share = min(budget[_CHUNK_LEFT], int(room(tree, state) - state.measures[RESERVED]))
    if share <= 0:
        share = budget[_CHUNK_LEFT]
    share = min(rest, share)
    _choose(state, asked, budget, request, share, share == rest)
    return bool(share < rest)


@inner
def _add(
    tree: Tree,
    state: State,
    asked: Asked,
    budget: np.ndarray[tuple[int], np.dtype[np.int64]],
    request: int,
) -> int:
    """Let a request in; say whether, and why not, others are looked at."""
    node, policy, page = state.node[request], state.settings[POLICY], state.settings[PAGE]
    rest = asked.prompt[request] + state.done[request] - state.prefix[request]
    wanted = rest + min(asked.outputs[request] - state.done[request], CLIP_NEW_TOKENS)
    wanted += page if state.settings[ASKS_PAGE] == 1 else 0
    if wanted >= room(tree, state) - state.measures[RESERVED]:
        return _NO_TOKEN
    hold(tree, node)
    if wanted >= room(tree, state) - state.measures[RESERVED]:
        release(tree, node, policy)
        return _NO_TOKEN
    share = pages_of(state, rest) * page
    caps = state.settings[CAPS_PREFILL] == 1
    if caps and share >= budget[_LEFT] and state.lengths[CHOSEN] > 0:
        release(tree, node, policy)
        return _OTHER
    ends = share <= budget[_CHUNK_LEFT]
    if not ends:
        share = budget[_CHUNK_LEFT] // page * page
        if share <= 0:
            release(tree, node, policy)
            return _OTHER
        state.tallies[CHUNKED] = request
    _choose(state, asked, budget, request, min(share, rest), ends)
    left = room(tree, state)
    if left - state.measures[RESERVED] <= 0 or left - budget[_TAKEN] <= 0:
        return _NO_TOKEN
    return _OTHER if budget[_LEFT] <= 0 or budget[_CHUNK_LEFT] <= 0 else _GOES_ON


@inner
def _choose(
    state: State,
    asked: Asked,
    budget: np.ndarray[tuple[int], np.dtype[np.int64]],
    request: int,
    share: int,
    ends: bool,
) -> None:
    state.committed[request] = state.prefix[request] + share
    put(state, CHOSEN, request)
    state.joins[request] = True
    page = state.settings[PAGE]
    whole = pages_of(state, share) * page
    beside = page if state.settings[RESERVES_PAGE] == 1 else 0
    coming = min(asked.outputs[request], CLIP_NEW_TOKENS) if ends else 0
    state.measures[RESERVED] += whole + beside + coming
    budget[_TAKEN] += whole + beside
    budget[_LEFT] -= whole
    budget[_CHUNK_LEFT] -= whole


@inner
def _extend(tree: Tree, state: State, page: int) -> None:
    """Take the pages of those that were chosen."""
    count = state.lengths[CHOSEN]
    asked_tokens = count * page if page > 1 else 0
    for place in range(count):
        request = state.lists[CHOSEN, place]
        asked_tokens += state.committed[request] - state.prefix[request]
    make_room(tree, state, asked_tokens, state.lists[CHOSEN, 0])
    for place in range(count):
        request = state.lists[CHOSEN, place]
        use(
            state,
            pages_of(state, state.committed[request]) - pages_of(state, state.prefix[request]),
        )
        if state.cached[request] < 0:
            state.cached[request] = state.prefix[request]
            state.held[request] = tree.totals[HELD]
        elif state.retracted[request]:
            state.resumed[request] += state.prefix[request]
        state.retracted[request] = False
