"""One pass of a log through the caches: the modelled one, an unbounded twin, the ideal one.

The twin, with the same rules and no bound, tells what was lost to eviction from what the
rules never allow. Nothing but integers is kept of a request: about 100 bytes each, beside
what the models say of themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.errors import UsageError
from kvaudit.core.prompts import PromptBatch
from kvaudit.core.quantities import Capacity
from kvaudit.core.results import (
    Bounds,
    EngineSummary,
    LostTokens,
    NamespaceSummary,
    PrefixSummary,
    SessionsSummary,
)
from kvaudit.replay.arrival import OutOfOrder, concatenate, in_window, sort_all, without_outputs
from kvaudit.replay.blocks import make_interner
from kvaudit.replay.engine import CacheSettings, Engine, KeyChain, choose, find_engine
from kvaudit.replay.ledger import CacheLedger, LogLedger
from kvaudit.replay.outcomes import CacheOutcome
from kvaudit.replay.prompts import Prompts
from kvaudit.replay.tally import by_namespace, by_session, reported, summarize, with_pool

# Below this the plain models are done before compiled code would be loaded.
SMALL_UNITS = 3 << 20
SMALL_REQUESTS = 3000


class Rows(Protocol):
    """Takes one row a request, a batch of columns at a time."""

    def write(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Append the rows whose columns these are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be replayed through what; None leaves it to the engine or the log."""

    engine: str | None = None
    engine_version: str | None = None
    block_size: int | None = None
    capacity: Capacity
    kv_bytes_per_token: int | None = None
    model: str | None = None
    model_note: str | None = None
    """What must be said of the model's KV size."""
    policy: str | None = None
    eagle: bool = False
    engine_keys: str | None = None
    """How the engine's own block keys are computed, for the per-request rows."""
    warmup: float = 0.0
    """Below 1 a share of the requests, else a count; they are left out of all sums."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """What one pass found; the parts of a `ReplayReport` that a replay knows."""

    engine: EngineSummary
    prefix: PrefixSummary
    ideal: PrefixSummary
    reported: PrefixSummary | None
    lost: LostTokens
    namespaces: Sequence[NamespaceSummary]
    sessions: SessionsSummary | None
    span_s: float | None
    prompt_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]


def replay_log(
    prompts: Prompts, plan: Plan, open_rows: Callable[[], AbstractContextManager[Rows | None]]
) -> ReplayResult | None:
    """Replay a log; return None where it holds no request that could be replayed.

    ``open_rows`` gives a writer for per-request rows. It is opened a second time, and the
    first one left by an exception, when the log turns out to be far out of order.
    """
    try:
        with open_rows() as rows:
            return _replay(in_window(prompts), prompts, plan, rows)
    except OutOfOrder:
        with open_rows() as rows:
            return _replay(sort_all(prompts), prompts, plan, rows)


def _replay(
    batches: Iterator[PromptBatch], prompts: Prompts, plan: Plan, rows: Rows | None
) -> ReplayResult | None:
    head, small = _head(batches)
    if not head:
        return None
    engine = find_engine(plan.engine or ("ideal" if prompts.holds_blocks else "vllm"))
    settings = _settings(engine, plan, prompts, small)
    run = Run(engine, settings, plan, prompts, rows)
    # Responses that the log holds as text are known only up to their spelling in tokens: a
    # second run takes them as they would be spelled, and the truth lies between the two.
    spelled = Run(engine, settings, plan, prompts, None) if prompts.outputs_reencoded else None
    stream: Iterable[PromptBatch] = chain(head, batches)
    if settings.policy in engine.clairvoyant_policies and settings.capacity_blocks is not None:
        stream = [concatenate(list(stream))]
    for batch in stream:
        if spelled is not None:
            spelled.feed(batch)
            batch = without_outputs(batch)
        run.feed(batch)
    return run.result(spelled)


def _head(batches: Iterator[PromptBatch]) -> tuple[list[PromptBatch], bool]:
    """Return the first batches, and whether they are all of a log that is small."""
    head: list[PromptBatch] = []
    units = requests = 0
    for batch in batches:
        head.append(batch)
        units += len(batch.units)
        requests += len(batch.requests)
        if units > SMALL_UNITS or requests > SMALL_REQUESTS:
            return head, False
    return head, True


def _settings(engine: Engine, plan: Plan, prompts: Prompts, small: bool) -> CacheSettings:
    policy = choose(engine, version=plan.engine_version, policy=plan.policy, eagle=plan.eagle)
    block_size = plan.block_size or engine.block_size
    if prompts.holds_blocks:
        assert prompts.block_tokens is not None
        block_size = prompts.block_tokens
        if plan.block_size not in (None, block_size):
            raise UsageError(
                f"--block-size {plan.block_size} cannot be replayed: the log holds hashes of "
                f"blocks of {block_size} tokens; leave the option out"
            )
    return CacheSettings(
        version=plan.engine_version or engine.newest_version,
        block_size=block_size,
        capacity_blocks=plan.capacity.to_blocks(
            block_size=block_size, kv_bytes_per_token=plan.kv_bytes_per_token
        ),
        policy=policy,
        eagle=plan.eagle,
        small=small,
    )


class Run:
    """The caches of one replay and the columns they fill."""

    def __init__(
        self,
        engine: Engine,
        settings: CacheSettings,
        plan: Plan,
        prompts: Prompts,
        rows: Rows | None,
    ) -> None:
        """Set up empty caches."""
        self.engine, self.settings, self.plan, self.prompts = engine, settings, plan, prompts
        self._rows = rows
        self._own_keys = _own_keys(engine, settings, plan, prompts) if rows is not None else None
        self._interner = make_interner(
            block_units=1 if prompts.holds_blocks else settings.block_size,
            tails=engine.partial_blocks and settings.block_size > 1,
            small=settings.small,
        )
        self._cache = engine.build(settings)
        unbounded = replace(settings, capacity_blocks=None)
        self._twin = engine.build(unbounded) if settings.capacity_blocks is not None else None
        self._log = LogLedger()
        self._served, self._unbounded, self._shared = CacheLedger(), CacheLedger(), CacheLedger()

    def feed(self, batch: PromptBatch) -> None:
        """Serve the batch's requests and keep what became of them."""
        keys = self._interner.intern(batch)
        outcome = self._cache.replay(batch, keys)
        if self.prompts.holds_blocks:
            blocks = batch.prompt_units
        else:
            blocks = -(-batch.prompt_tokens // self.settings.block_size)
        self._log.add(batch)
        self._served.add(outcome, blocks)
        if self._twin is not None:
            self._unbounded.add(self._twin.replay(batch, keys), blocks)
        shared_tokens = np.minimum(keys.shared_units * batch.unit_tokens, batch.prompt_tokens)
        self._shared.add_hits(shared_tokens, keys.shared_units, batch.prompt_units)
        if self._rows is not None:
            columns = _columns(batch, outcome)
            if self._own_keys is not None:
                columns["block_keys"] = self._keys_of(batch, self._own_keys)
            self._rows.write(columns)

    def _keys_of(self, batch: PromptBatch, chain: KeyChain) -> list[list[str]]:
        """Return the engine's own keys of each request's known blocks, in hexadecimal."""
        bounds = batch.offsets.tolist()
        return [
            [
                key.hex()
                for key in chain(
                    batch.units[bounds[i] : bounds[i + 1]].tolist(),
                    self.settings.block_size,
                    facts.lora,
                    facts.salt,
                )
            ]
            for i, facts in enumerate(batch.requests)
        ]

    def result(self, spelled: Run | None) -> ReplayResult:
        """Sum up; ``spelled`` is the run that took responses as they would be spelled."""
        counted, log = self._counted(), self._log
        prompt_tokens = log.prompt_tokens.values()
        hit_tokens = self._served.hit_tokens.values()[counted]
        prefix, ideal = self._with_bounds(spelled)
        unbounded = self._unbounded if self._twin is not None else self._served
        unbounded_hits = int(unbounded.hit_tokens.values()[counted].sum())
        return ReplayResult(
            engine=self._engine_summary(),
            prefix=prefix,
            ideal=ideal,
            reported=reported(
                log.reported_prompts.values()[counted], log.reported_hits.values()[counted]
            ),
            lost=LostTokens(
                first_seen=prefix.prompt_tokens - max(ideal.hit_tokens, unbounded_hits),
                evicted=unbounded_hits - prefix.hit_tokens,
                last_block=max(ideal.hit_tokens - unbounded_hits, 0),
            ),
            namespaces=by_namespace(
                self.prompts.namespace_names,
                log.namespaces.values()[counted],
                prompt_tokens[counted],
                hit_tokens,
            ),
            sessions=by_session(
                log.session_names,
                log.sessions.values()[counted],
                prompt_tokens[counted],
                hit_tokens,
            ),
            span_s=log.span_s(),
            prompt_tokens=prompt_tokens,
            output_tokens=log.output_tokens.values(),
        )

    def _with_bounds(self, spelled: Run | None) -> tuple[PrefixSummary, PrefixSummary]:
        prefix, ideal = self.summaries()
        if spelled is None:
            return prefix, ideal
        ends = zip((prefix, ideal), spelled.summaries(), strict=True)
        prefix, ideal = (replace(own, bounds=_bounds(own, other)) for own, other in ends)
        return prefix, ideal

    def summaries(self) -> tuple[PrefixSummary, PrefixSummary]:
        """Return what the modelled cache hit, and what the ideal one would have."""
        counted, prompt_tokens = self._counted(), self._log.prompt_tokens.values()
        prefix = summarize(
            prompt_tokens,
            self._served,
            counted=counted,
            definition=self._definition(self.engine.definition),
        )
        prefix = with_pool(prefix, self._served, self._log.clock_s(), counted)
        if self.engine.name == "ideal":
            return prefix, prefix
        ideal = summarize(
            prompt_tokens,
            self._shared,
            counted=counted,
            definition=self._definition(
                "longest contiguous prefix that any earlier request in the namespace holds"
            ),
        )
        return prefix, ideal

    def _counted(self) -> slice:
        requests = len(self._log.prompt_tokens.values())
        warmup = self.plan.warmup
        return slice(int(warmup * requests) if warmup < 1 else int(warmup), None)

    def _definition(self, hit: str) -> str:
        warmup = self._counted().start
        part = f"after a warm-up of {warmup:,} requests" if warmup else "whole log, cold start"
        return f"hit tokens / prompt tokens, {part}, {hit}"

    def _engine_summary(self) -> EngineSummary:
        settings, per_token = self.settings, self.plan.kv_bytes_per_token
        capacity_bytes = None
        if settings.capacity_blocks is not None and per_token is not None:
            capacity_bytes = settings.capacity_blocks * settings.block_size * per_token
        return EngineSummary(
            name=self.engine.name,
            version=settings.version,
            # Logged blocks may differ in size from request to request; this is the largest.
            block_size=self.prompts.block_tokens or settings.block_size,
            capacity_blocks=settings.capacity_blocks,
            capacity_bytes=capacity_bytes,
            model=self.plan.model,
            kv_bytes_per_token=per_token,
            policy=settings.policy,
            schedule="sequential",
            exactness=self.engine.exactness(settings),
        )


def _own_keys(
    engine: Engine, settings: CacheSettings, plan: Plan, prompts: Prompts
) -> KeyChain | None:
    if plan.engine_keys is None:
        return None
    if engine.own_keys is None or settings.version is None:
        raise UsageError(f"--engine-keys: {engine.name} has no keys of its own; leave it out")
    if prompts.holds_blocks:
        raise UsageError("--engine-keys needs tokens, and the log holds block hashes only")
    return engine.own_keys(settings.version, plan.engine_keys)


def _bounds(prompts_only: PrefixSummary, spelled: PrefixSummary) -> Bounds | None:
    if prompts_only.hit_rate is None or spelled.hit_rate is None:
        return None
    # Generated text that is kept can hit, but in a bounded cache it also takes room.
    low, high = sorted((prompts_only.hit_rate, spelled.hit_rate))
    return Bounds(
        low=low,
        high=high,
        definition=(
            "of two replays: prompts only, where generated text never hits, and with logged "
            "responses tokenized again, which hit where the next turn repeats them"
        ),
    )


def _columns(batch: PromptBatch, outcome: CacheOutcome) -> dict[str, Sequence[Any]]:
    return {
        "id": [f.id for f in batch.requests],
        "admitted": outcome.admitted.tolist(),
        "prompt_tokens": batch.prompt_tokens.tolist(),
        "cached_tokens": outcome.cached_tokens.tolist(),
        "evicted_blocks": outcome.evicted_blocks.tolist(),
        "instance": [f.instance for f in batch.requests],
    }
