"""A whole log through SGLang's scheduler, requests arriving in given steps.

The system jumps to the next arrival when it is empty. Prompts that the engine turns away for want
of room are not admitted (``scheduler.py``, ``max_req_input_len``), and the tokens to come are cut
to what the pool can hold (``init_req_max_new_tokens``).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch, known_full_blocks
from kvaudit.replay.key_runs import KeyRuns, keys_by_request, with_unknown
from kvaudit.replay.models.sglang_queue import HEAD_TOKENS, SglangLimits
from kvaudit.replay.models.sglang_releases import Rules
from kvaudit.replay.models.sglang_request import Running
from kvaudit.replay.models.sglang_steps import Batch, SglangScheduler
from kvaudit.replay.outcomes import CacheOutcome, EngineActivity, check_sizes

SPARE_TOKENS = 6
"""A prompt must be shorter than the pool by more than one less than these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SglangSetup:
    """What an engine is; the kernel takes the same."""

    capacity_pages: int | None
    """None never evicts."""
    page_size: int
    rules: Rules
    policy: str
    limits: SglangLimits

    def __post_init__(self) -> None:
        """Refuse sizes that hold nothing."""
        check_sizes(self.capacity_pages, self.page_size)

    def pool_pages(self, prompts: PromptBatch) -> int:
        """Return the size of the pool, for a log that it may not have to forget anything of."""
        if self.capacity_pages is not None:
            return self.capacity_pages
        totals = prompts.prompt_tokens + prompts.output_tokens
        # Admitting counts tokens to come, and pages beside them, for all that run at once.
        return int((-(-totals // self.page_size) + 3).sum()) + SPARE_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class SglangWork:
    """What a log asks of the scheduler, by request; the kernel takes the same."""

    runs: KeyRuns
    """Of all full pages of prompts and outputs, those of unknown text numbered apart."""
    outputs: NDArray[np.int64]
    """Tokens until the request ends, at least one, no more than fit."""
    heads: NDArray[np.int64]
    """Equal for requests with the same first tokens in the same namespace."""
    priority: NDArray[np.int64]
    arrivals: NDArray[np.int64]
    fits: NDArray[np.bool_]


def sglang_work(setup: SglangSetup, prompts: PromptBatch, blocks: BlockBatch) -> SglangWork:
    """Return what the log asks, given the size of the pool."""
    page, tokens = setup.page_size, prompts.prompt_tokens
    limit = setup.pool_pages(prompts) * page
    # scheduler.py, init_req_max_new_tokens. 0.5.11 does not cut, and such a request waits for ever.
    room = limit - 2 - tokens
    if setup.limits.asks_page:
        room = limit - 1 - page - -(-tokens // page) * page
    outputs = np.minimum(np.maximum(prompts.output_tokens, 1), np.maximum(room, 1))
    pages = (tokens + outputs) // page
    known = np.minimum(known_full_blocks(prompts, blocks, page), pages)
    facts = prompts.requests
    return SglangWork(
        runs=with_unknown(blocks.runs, known, pages, int(blocks.known_before[-1])),
        outputs=outputs,
        heads=_heads(prompts),
        priority=np.array([f.priority or 0 for f in facts] or [0] * len(tokens), np.int64),
        arrivals=np.array([f.arrive_step or 0 for f in facts] or [0] * len(tokens), np.int64),
        fits=(tokens < limit - SPARE_TOKENS) & (room >= 1),
    )


def _heads(prompts: PromptBatch) -> NDArray[np.int64]:
    """Number the first tokens of requests; what is too short is like nothing else."""
    numbers: dict[tuple[int, bytes], int] = {}
    heads = np.empty(len(prompts.prompt_tokens), np.int64)
    for i, (start, end) in enumerate(
        zip(prompts.offsets[:-1].tolist(), prompts.offsets[1:].tolist(), strict=True)
    ):
        units = -(-HEAD_TOKENS // int(prompts.unit_tokens[i]))
        text = prompts.units[start : min(end, start + units)].tobytes()
        key = int(prompts.namespaces[i]), text
        heads[i] = numbers.setdefault(key, len(numbers))
    return heads


class SglangRun:
    """One engine as a cache model over a whole log, given as one batch in order of arrival."""

    def __init__(self, setup: SglangSetup) -> None:
        """Take what the engine is; nothing is kept from one log to the next."""
        self.setup = setup

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve all requests of the log."""
        setup = self.setup
        engine = SglangScheduler(
            capacity=setup.pool_pages(prompts),
            page_size=setup.page_size,
            rules=setup.rules,
            policy=setup.policy,
            limits=setup.limits,
        )
        work = sglang_work(setup, prompts, blocks)
        requests = _requests(work, prompts)
        coming = deque(r for r in requests if work.fits[r.number])
        diary = _Diary(len(requests))
        now = 0
        while coming or engine.busy:
            if not engine.busy:
                now = max(now, int(work.arrivals[coming[0].number]))
            while coming and work.arrivals[coming[0].number] <= now:
                request = coming.popleft()
                diary.met_blocks[request.number] = engine.used - engine.tree.evictable_pages
                engine.waiting.line.append(request)
            known = engine.pending
            diary.note(engine.step(), known, now, engine)
            now += 1
        return diary.outcome(requests, engine, work, setup.page_size)


def _requests(work: SglangWork, prompts: PromptBatch) -> list[Running]:
    return [
        Running(
            number=i,
            path=keys.tobytes(),
            prompt=int(prompts.prompt_tokens[i]),
            outputs=int(work.outputs[i]),
            priority=int(work.priority[i]),
            head=int(work.heads[i]),
        )
        for i, keys in enumerate(keys_by_request(work.runs))
    ]


class _Diary:
    """What is noted of a run besides hits."""

    def __init__(self, requests: int) -> None:
        self.started, self.first_token, self.ended = np.full((3, requests), np.nan)
        self.met_blocks = np.zeros(requests, np.int64)
        self.steps = 0
        self.used_block_time = 0.0

    def note(
        self, batch: Batch | None, known: Batch | None, now: int, engine: SglangScheduler
    ) -> None:
        """Take down a step that began ``now``, and whose results became known in it."""
        for request in [] if known is None else known.requests:
            if request.done and np.isnan(self.first_token[request.number]):
                self.first_token[request.number] = now + 1
            if request.ended and np.isnan(self.ended[request.number]):
                self.ended[request.number] = now + 1
        if batch is None:
            return
        self.steps += 1
        self.used_block_time += engine.used - engine.tree.evictable_pages
        for request in batch.requests:
            if np.isnan(self.started[request.number]):
                self.started[request.number] = now

    def outcome(
        self, requests: list[Running], engine: SglangScheduler, work: SglangWork, page: int
    ) -> CacheOutcome:
        """Return all of it."""
        cached = np.array([r.cached or 0 for r in requests], np.int64)
        resumed = np.array([r.resumed_cached for r in requests], np.int64)
        return CacheOutcome(
            cached_tokens=cached,
            hit_blocks=cached // page,
            admitted=np.array([r.cached is not None for r in requests], np.bool_),
            evicted_blocks=np.array([r.evicted for r in requests], np.int64),
            held_blocks=np.array([r.held for r in requests], np.int64),
            peak_blocks=engine.peak,
            resumed_cached_tokens=resumed,
            activity=EngineActivity(
                arrived=work.arrivals.astype(np.float64),
                started=self.started,
                first_token=self.first_token,
                ended=self.ended,
                met_blocks=self.met_blocks,
                steps=self.steps,
                preemptions=engine.retractions,
                peak_running=engine.peak_running,
                peak_used_blocks=engine.peak_used,
                mean_used_blocks=self.used_block_time / self.steps if self.steps else 0.0,
                counted_queries=0,
                counted_hits=0,
                counted_preempted_queries=0,
                counted_preempted_hits=0,
                follows_counters=False,
            ),
        )
