"""SGLang's scheduler, compiled; `kvaudit.replay.models.sglang_run` is what it must equal."""

from __future__ import annotations

import numpy as np

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.kernels.compiled import compiled, inner
from kvaudit.replay.kernels.radix_tree import (
    EVICTABLE,
    KEEP_ALL,
    NODES,
    POLICIES,
    Tree,
    empty_tree,
    release,
    with_room,
)
from kvaudit.replay.kernels.sglang_pool import cache_unfinished, finish, make_room, use
from kvaudit.replay.kernels.sglang_prefill import choose_prefill
from kvaudit.replay.kernels.sglang_state import (
    ASKS_PAGE,
    CAPACITY,
    CAPS_PREFILL,
    CHOSEN,
    CHUNK_TOKENS,
    CHUNK_WAITS,
    CHUNKED,
    COMING,
    COUNTS,
    FULL,
    KEEPS_AGE,
    LAST,
    LAST_CHUNKED,
    LAST_PREFILLS,
    NOBODY,
    NOW,
    PAGE,
    PEAK,
    PEAK_RUNNING,
    PEAK_USED,
    PENDING,
    PENDING_PREFILLS,
    PLACES,
    POLICY,
    PREFILL_TOKENS,
    RATIO,
    RESERVES_PAGE,
    RETRACTIONS,
    RUNNING,
    SETTINGS,
    SHORTFALL,
    SORTS,
    SORTS_REUSABLE,
    STEPS,
    USED,
    USED_TIME,
    WAITING,
    Asked,
    State,
    copy_list,
    drop_marked,
    empty_state,
    pages_of,
    put,
)
from kvaudit.replay.models.sglang_queue import (
    INITIAL_RATIO,
    MIN_RATIO,
    RATIO_DECAY,
    RETRACT_STEPS,
)
from kvaudit.replay.models.sglang_releases import Counted
from kvaudit.replay.models.sglang_run import SglangSetup, sglang_work
from kvaudit.replay.outcomes import CacheOutcome, EngineActivity

_ROOM_A_REQUEST = 16
"""Nodes that a step may add to the tree for each request that waits or runs."""


class CompiledSglangRun:
    """`SglangRun` for large logs.

    Holds 8 bytes a full page of all requests, 200 bytes a request, and 80 bytes a node that was
    ever made.
    """

    def __init__(self, setup: SglangSetup) -> None:
        """Take what the reference takes."""
        self.setup = setup

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve all requests of the log."""
        work = sglang_work(self.setup, prompts, blocks)
        asked = Asked(
            keys=work.keys,
            starts=work.starts,
            prompt=prompts.prompt_tokens,
            outputs=work.outputs,
            heads=work.heads,
            priority=work.priority,
            arrivals=work.arrivals,
            fits=work.fits,
        )
        count = len(work.outputs)
        state = empty_state(count, self._settings(prompts), INITIAL_RATIO)
        tree = with_room(empty_tree(), int(work.keys.max(initial=-1)) + 1, count + 1)
        while not _serve(tree, state, asked):
            active = int(state.lengths[WAITING] + state.lengths[RUNNING])
            tree = with_room(tree, 0, 4 * _ROOM_A_REQUEST * (active + 16))
        return self._outcome(state, asked)

    def _settings(self, prompts: PromptBatch) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        setup, limits = self.setup, self.setup.limits
        settings = np.zeros(SETTINGS, np.int64)
        bounded = setup.capacity_pages is not None
        settings[CAPACITY] = setup.pool_pages(prompts)
        settings[PAGE] = setup.page_size
        settings[POLICY] = POLICIES[setup.policy] if bounded else KEEP_ALL
        settings[KEEPS_AGE] = setup.rules.split_keeps_age
        settings[COUNTS] = setup.rules.counted is not Counted.NEVER
        settings[PLACES] = limits.max_running
        settings[CHUNK_TOKENS] = limits.chunk_tokens
        settings[PREFILL_TOKENS] = limits.prefill_tokens
        settings[SORTS] = limits.by_longest_prefix
        settings[RESERVES_PAGE] = limits.reserves_page
        settings[ASKS_PAGE] = limits.asks_page
        settings[CHUNK_WAITS] = limits.chunk_waits
        settings[CAPS_PREFILL] = limits.caps_prefill
        settings[SORTS_REUSABLE] = limits.sorts_reusable
        settings[SHORTFALL] = setup.rules.evicts_shortfall
        return settings

    def _outcome(self, state: State, asked: Asked) -> CacheOutcome:
        tallies = state.tallies
        cached, steps = np.maximum(state.cached, 0), int(tallies[STEPS])
        return CacheOutcome(
            cached_tokens=cached,
            hit_blocks=cached // self.setup.page_size,
            admitted=state.cached >= 0,
            evicted_blocks=state.evicted,
            held_blocks=state.held,
            peak_blocks=int(tallies[PEAK]),
            resumed_cached_tokens=state.resumed,
            activity=EngineActivity(
                arrived=asked.arrivals.astype(np.float64),
                started=state.started,
                first_token=state.first_token,
                ended=state.finished,
                met_blocks=state.met,
                steps=steps,
                preemptions=int(tallies[RETRACTIONS]),
                peak_running=int(tallies[PEAK_RUNNING]),
                peak_used_blocks=int(tallies[PEAK_USED]),
                mean_used_blocks=float(state.measures[USED_TIME]) / steps if steps else 0.0,
                counted_queries=0,
                counted_hits=0,
                counted_preempted_queries=0,
                counted_preempted_hits=0,
                follows_counters=False,
            ),
        )


@compiled
def _serve(tree: Tree, state: State, asked: Asked) -> bool:
    """Run steps until all are served; return False where the tree needs room first."""
    tallies, count = state.tallies, len(asked.prompt)
    while True:
        while tallies[COMING] < count and not asked.fits[tallies[COMING]]:
            tallies[COMING] += 1
        busy = _is_busy(state)
        if tallies[COMING] == count and not busy:
            return True
        if not busy:
            tallies[NOW] = max(tallies[NOW], asked.arrivals[tallies[COMING]])
        while tallies[COMING] < count:
            request = tallies[COMING]
            if asked.arrivals[request] > tallies[NOW]:
                break
            if asked.fits[request]:
                state.met[request] = tallies[USED] - tree.totals[EVICTABLE]
                put(state, WAITING, request)
            tallies[COMING] += 1
        active = state.lengths[WAITING] + state.lengths[RUNNING] + state.lengths[LAST] + 2
        need = _ROOM_A_REQUEST * active
        if tree.totals[NODES] + need > len(tree.parent):
            return False
        if tree.queue.size[0] + need > len(tree.queue.item):
            return False
        _step(tree, state, asked)
        tallies[NOW] += 1


@inner
def _is_busy(state: State) -> bool:
    lists = state.lengths[WAITING] + state.lengths[RUNNING] + state.lengths[LAST]
    return bool(lists > 0 or state.tallies[CHUNKED] != NOBODY)


@compiled
def _step(tree: Tree, state: State, asked: Asked) -> None:
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
            _decode(tree, state, asked)
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
def _decode(tree: Tree, state: State, asked: Asked) -> None:
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
