"""Three caches side by side: the modelled one, its twin without a bound, and the ideal one.

The twin, with the same rules and no bound, tells what was lost to eviction from what the
rules never allow. Nothing but integers is kept of a request: about 100 bytes each, beside
what the models say of themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kvaudit.core.prompts import PromptBatch
from kvaudit.core.results import PrefixSummary
from kvaudit.core.summaries import Bounds, EngineSummary
from kvaudit.replay.beginning import RANGE
from kvaudit.replay.hosted import rules_read
from kvaudit.replay.ledger import CacheLedger, LogLedger
from kvaudit.replay.losses import lost_tokens
from kvaudit.replay.parts.part import Ledgers, Part, Served
from kvaudit.replay.result import ReplayResult
from kvaudit.replay.scheduling import length_remarks
from kvaudit.replay.setup import Setup
from kvaudit.replay.tally import (
    by_namespace,
    by_session,
    reported,
    sampling,
    summarize,
    with_pool,
)


class Comparison:
    """The caches of one pass and the columns they fill."""

    def __init__(self, setup: Setup) -> None:
        """Start with empty caches."""
        self.setup = setup
        self.cache = setup.cache()
        self._interner = setup.interner()
        self._twin, self._settled = setup.twin(), setup.settled()
        self._log = LogLedger()
        self._served, self._shared = CacheLedger(), CacheLedger()
        self._kept = self._served if self._twin is None else CacheLedger()
        self._ready = CacheLedger()

    def feed(self, batch: PromptBatch) -> Served:
        """Serve the batch's requests, keep what became of them, and return it."""
        keys = self._interner.intern(batch)
        outcome = self.cache.replay(batch, keys)
        if self.setup.prompts.holds_blocks:
            blocks = batch.prompt_units
        else:
            blocks = -(-batch.prompt_tokens // self.setup.settings.block_size)
        self._log.add(batch)
        self._served.add(outcome, blocks)
        kept = outcome
        if self._twin is not None:
            kept = self._twin.replay(batch, keys)
            self._kept.add(kept, blocks)
        if self._settled is not None:
            self._ready.add(self._settled.replay(batch, keys), blocks)
        shared_tokens = np.minimum(keys.shared_units * batch.unit_tokens, batch.prompt_tokens)
        self._shared.add_hits(shared_tokens, keys.shared_units, batch.prompt_units)
        return Served(batch, keys, outcome, kept)

    def result(self, spelled: Comparison | None, parts: Sequence[Part]) -> ReplayResult:
        """Sum up; ``spelled`` is the pass that took responses as they would be spelled."""
        log, counted = self._log, self._counted()
        prompts = log.prompt_tokens.values()
        hits = self._served.hit_tokens.values()[counted]
        sessions = log.sessions.values()[counted]
        prefix, ideal = self._with_bounds(spelled)
        ledgers = Ledgers(
            log=log,
            served=self._served,
            kept=self._kept,
            ready=None if self._settled is None else self._ready,
            counted=counted,
            is_low_end=spelled is not None,
        )
        result = ReplayResult(
            engine=self._engine_summary(),
            prefix=prefix,
            ideal=ideal,
            lost=lost_tokens(prefix, ideal, ledgers),
            sampling=sampling(sessions, prompts[counted], hits),
            reported=reported(
                log.reported_prompts.values()[counted], log.reported_hits.values()[counted]
            ),
            namespaces=by_namespace(
                self.setup.prompts.namespace_names,
                log.namespaces.values()[counted],
                prompts[counted],
                hits,
            ),
            sessions=by_session(log.session_names, sessions, prompts[counted], hits),
            remarks=(
                *self.setup.engine.remarks(self.setup.settings),
                *length_remarks(self.setup.settings, log.output_tokens.values()),
            ),
            span_s=log.span_s(),
            prompt_tokens=prompts,
            output_tokens=log.output_tokens.values(),
        )
        for part in parts:
            result = part.add_to(result, ledgers)
        return result

    def _with_bounds(self, spelled: Comparison | None) -> tuple[PrefixSummary, PrefixSummary]:
        prefix, ideal = self.summaries()
        if spelled is None:
            return prefix, ideal
        ends = zip((prefix, ideal), spelled.summaries(), strict=True)
        prefix, ideal = (replace(own, bounds=_bounds(own, other)) for own, other in ends)
        return prefix, ideal

    def summaries(self) -> tuple[PrefixSummary, PrefixSummary]:
        """Return what the modelled cache hit, and what the ideal one would have."""
        engine, plan = self.setup.engine, self.setup.plan
        counted, prompt_tokens = self._counted(), self._log.prompt_tokens.values()
        prefix = summarize(
            prompt_tokens,
            self._served,
            counted=counted,
            definition=self._definition(
                engine.definition + (", in any tier" if plan.tiers is not None else "")
            ),
        )
        if engine.provider is None:
            prefix = with_pool(prefix, self._served, self._log.clock_s(), counted)
        if engine.name == "ideal" and plan.fleet is None:
            return prefix, prefix
        ideal = summarize(
            prompt_tokens,
            # Ideal replicas keep blocks, and so does what is possible for them.
            self._kept if engine.name == "ideal" else self._shared,
            counted=counted,
            definition=self._definition(
                "longest contiguous prefix that any earlier request in the namespace holds"
            ),
        )
        return prefix, ideal

    def _counted(self) -> slice:
        return self.setup.counted(len(self._log.prompt_tokens.values()))

    def _definition(self, hit: str) -> str:
        warmup = self._counted().start
        part = f"after a warm-up of {warmup:,} requests" if warmup else "whole log, cold start"
        return f"hit tokens / prompt tokens, {part}, {hit}"

    def _engine_summary(self) -> EngineSummary:
        engine, settings, plan = self.setup.engine, self.setup.settings, self.setup.plan
        capacity_bytes = None
        if settings.capacity_blocks is not None and plan.kv_bytes_per_token is not None:
            block_bytes = settings.block_size * plan.kv_bytes_per_token
            capacity_bytes = settings.capacity_blocks * block_bytes
        return EngineSummary(
            name=engine.name,
            version=settings.version,
            # Logged blocks may differ in size from request to request; this is the largest.
            block_size=self.setup.prompts.block_tokens or settings.block_size,
            capacity_blocks=settings.capacity_blocks,
            capacity_bytes=capacity_bytes,
            model=plan.model,
            kv_bytes_per_token=plan.kv_bytes_per_token,
            policy=settings.policy,
            schedule=settings.schedule,
            exactness=engine.exactness(settings),
            rules=rules_read(engine),
        )


def _bounds(prompts_only: PrefixSummary, spelled: PrefixSummary) -> Bounds | None:
    if prompts_only.hit_rate is None or spelled.hit_rate is None:
        return None
    # Generated text that is kept can hit, but in a bounded cache it also takes room.
    low, high = sorted((prompts_only.hit_rate, spelled.hit_rate))
    return Bounds(low=low, high=high, definition=RANGE)
