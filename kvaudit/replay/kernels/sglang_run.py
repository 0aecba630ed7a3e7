"""A log through SGLang's scheduler, compiled; `kvaudit.replay.models.sglang_run` is its twin."""

from __future__ import annotations

import numpy as np

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.kernels.radix_ranks import KEEP_ALL, POLICIES
from kvaudit.replay.kernels.radix_tree import (
    EVICTABLE,
    NODES,
    Tree,
    empty_tree,
    with_paths,
    with_room,
)
from kvaudit.replay.kernels.sglang_state import (
    ASKS_PAGE,
    CAPACITY,
    CAPS_PREFILL,
    CHUNK_TOKENS,
    CHUNK_WAITS,
    COMING,
    COUNTS,
    KEEPS_AGE,
    LAST,
    NOW,
    PAGE,
    PEAK,
    PEAK_RUNNING,
    PEAK_USED,
    PLACES,
    POLICY,
    PREFILL_TOKENS,
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
    empty_state,
    put,
)
from kvaudit.replay.kernels.sglang_steps import is_busy, step
from kvaudit.replay.key_runs import block_counts
from kvaudit.replay.models.sglang_queue import INITIAL_RATIO
from kvaudit.replay.models.sglang_releases import Counted
from kvaudit.replay.models.sglang_run import SglangSetup, sglang_work
from kvaudit.replay.outcomes import CacheOutcome, EngineActivity

_ROOM_A_REQUEST = 16
"""Nodes that a step may add to the tree for each request that waits or runs."""


class CompiledSglangRun:
    """`SglangRun` for large logs.

    Holds 8 bytes a run of consecutive keys, 200 bytes a request, and 140 bytes a node that was ever
    made.
    """

    def __init__(self, setup: SglangSetup) -> None:
        """Take what the reference takes."""
        self.setup = setup

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve all requests of the log."""
        work = sglang_work(self.setup, prompts, blocks)
        pages = block_counts(work.runs)
        tree, runs = with_paths(empty_tree(), work.runs, pages)
        asked = Asked(
            runs=runs,
            pages=pages,
            prompt=prompts.prompt_tokens,
            outputs=work.outputs,
            heads=work.heads,
            priority=work.priority,
            arrivals=work.arrivals,
            fits=work.fits,
        )
        count = len(work.outputs)
        state = empty_state(count, self._settings(prompts), INITIAL_RATIO)
        tree = with_room(tree, count + 1)
        while not _serve(tree, state, asked):
            active = int(state.lengths[WAITING] + state.lengths[RUNNING])
            tree = with_room(tree, 4 * _ROOM_A_REQUEST * (active + 16))
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
        busy = is_busy(state)
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
        if tree.totals[NODES] + need > len(tree.nodes):
            return False
        if tree.queue.size[0] + need > len(tree.queue.item):
            return False
        step(tree, state, asked)
        tallies[NOW] += 1
