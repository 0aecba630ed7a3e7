"""vLLM with its scheduler, compiled; `kvaudit.replay.models.engine_run` is what it must equal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.cost.steps import StepCost
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.kernels.engine_state import (
    BUSY_TIME,
    CLOCKS,
    HITS,
    PEAK_BLOCKS,
    PEAK_RUNNING,
    PEAK_USED,
    PREEMPTIONS,
    QUERIES,
    RESUMED_HITS,
    RESUMED_QUERIES,
    STEPS,
    TALLIES,
    USED_TIME,
    WAITS,
    Limits,
    Requests,
)
from kvaudit.replay.kernels.engine_steps import serve
from kvaudit.replay.kernels.kv_layers import layers_of, work_of
from kvaudit.replay.kernels.state_chunks import chunking_of
from kvaudit.replay.models.engine_run import EngineSetup
from kvaudit.replay.models.vllm_releases import Preemption
from kvaudit.replay.outcomes import CacheOutcome, EngineActivity

_NONE = StepCost(
    *(0.0, 0.0, 0.0, 0.0),
    *(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0)),
    *(0.0, 0.0, 0.0, 0.0, 0.0),
)
"""Stands for the cost of steps that all last 1."""


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
        tallies, clocks = np.zeros(TALLIES, np.int64), np.zeros(CLOCKS)
        timed = setup.time is not None
        serve(work, layers, limits, requests, keys, timed, setup.time or _NONE, tallies, clocks)
        cached = np.maximum(requests.cached, 0)
        busy = float(clocks[BUSY_TIME])
        return CacheOutcome(
            cached_tokens=cached,
            hit_blocks=cached // setup.layout.block_size,
            admitted=requests.cached != WAITS,
            evicted_blocks=work.evicted,
            held_blocks=requests.held,
            peak_blocks=int(tallies[PEAK_BLOCKS]),
            resumed_cached_tokens=requests.resumed,
            activity=EngineActivity(
                arrived=requests.arrived,
                started=requests.started,
                first_token=requests.first_token,
                ended=requests.ended,
                met_blocks=requests.met,
                steps=int(tallies[STEPS]),
                preemptions=int(tallies[PREEMPTIONS]),
                peak_running=int(tallies[PEAK_RUNNING]),
                peak_used_blocks=int(tallies[PEAK_USED]),
                mean_used_blocks=float(clocks[USED_TIME]) / busy if busy else 0.0,
                counted_queries=int(tallies[QUERIES]),
                counted_hits=int(tallies[HITS]),
                counted_preempted_queries=int(tallies[RESUMED_QUERIES]),
                counted_preempted_hits=int(tallies[RESUMED_HITS]),
            ),
        )

    def _limits(self, capacity: int, requests: int) -> Limits:
        limits, rules = self.setup.limits, self.setup.rules
        return Limits(
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


def _requests(prompts: PromptBatch, arrived: NDArray[np.float64]) -> Requests:
    count = len(prompts.prompt_tokens)
    priorities = [facts.priority or 0 for facts in prompts.requests] or [0] * count
    return Requests(
        output_tokens=np.maximum(prompts.output_tokens, 1),
        arrived=arrived,
        priority=np.array(priorities, np.int64),
        cached=np.full(count, WAITS, np.int64),
        resumed=np.zeros(count, np.int64),
        preemptions=np.zeros(count, np.int64),
        tried_alone=np.zeros(count, np.int64),
        held=np.zeros(count, np.int64),
        met=np.zeros(count, np.int64),
        started=np.full(count, np.nan),
        first_token=np.full(count, np.nan),
        ended=np.full(count, np.nan),
    )
