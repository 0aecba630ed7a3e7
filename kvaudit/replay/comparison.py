"""Three caches side by side: the modelled one, its twin without a bound, and the ideal one.

The twin, with the same rules and no bound, tells what was lost to eviction from what the
rules never allow. Nothing but integers is kept of a request: about 100 bytes each, beside
what the models say of themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.errors import UsageError
from kvaudit.core.fleet import FleetSummary
from kvaudit.core.isolation import IsolationSummary
from kvaudit.core.money import HostedSummary
from kvaudit.core.prompts import PromptBatch
from kvaudit.core.results import (
    Bounds,
    EngineSummary,
    LostTokens,
    NamespaceSummary,
    PrefixSummary,
    SessionsSummary,
)
from kvaudit.core.savings import Savings
from kvaudit.core.schedule import ScheduleSummary
from kvaudit.core.tiers import TierSummary
from kvaudit.cost.savings import (
    ScheduledTimes,
    ServedTokens,
    TimesToFirstToken,
    summarize_savings,
)
from kvaudit.replay.bill import Bill
from kvaudit.replay.blocks import Interner
from kvaudit.replay.caches import make_interner
from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.first_tokens import ColdSchedule, FirstTokens
from kvaudit.replay.fleet.cache import FleetCache
from kvaudit.replay.fleet.summary import fleet_summary
from kvaudit.replay.hosted import rules_read
from kvaudit.replay.isolation import Isolated, isolation_summary
from kvaudit.replay.ledger import CacheLedger, LogLedger
from kvaudit.replay.origins import Origins
from kvaudit.replay.outcomes import CacheModel, Stranding
from kvaudit.replay.plan import Plan, first_counted
from kvaudit.replay.prompts import Prompts
from kvaudit.replay.rows import RequestRows
from kvaudit.replay.scheduling import schedule_summary
from kvaudit.replay.step_clock import StepClock
from kvaudit.replay.tally import by_namespace, by_session, reported, summarize, with_pool
from kvaudit.replay.tier_caches import with_tiers
from kvaudit.replay.tier_summary import TierPricing, first_tier, lower_tiers, tier_bytes_per_s
from kvaudit.replay.tiers import TieredCache


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
    fleet: FleetSummary | None
    tiers: Sequence[TierSummary] | None
    hosted: HostedSummary | None
    savings: Savings | None
    isolation: IsolationSummary | None
    schedule: ScheduleSummary | None
    remarks: Sequence[str]
    """What must be said of the engine as it was set up."""
    span_s: float | None
    prompt_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]


class Comparison:
    """The caches of one pass and the columns they fill."""

    def __init__(
        self,
        engine: Engine,
        settings: CacheSettings,
        plan: Plan,
        prompts: Prompts,
        rows: RequestRows | None,
        *,
        billed: bool = True,
        clock: StepClock | None = None,
    ) -> None:
        """Set up empty caches; ``billed`` asks for a hosted cache's bill."""
        self._clock = clock
        self._schedule: ScheduleSummary | None = None
        self.engine, self.settings, self.plan, self.prompts = engine, settings, plan, prompts
        self._rows = rows
        self._interner = self._new_interner()
        self._cache = self._new_cache()
        self._fleet = self._cache if isinstance(self._cache, FleetCache) else None
        self._tiered = self._cache if isinstance(self._cache, TieredCache) else None
        # A provider's cache is a customer's own, and is read in other units than blocks.
        self._origins = Origins(self._interner.block_units) if engine.provider is None else None
        self._isolated = self._new_isolated()
        unbounded = replace(settings, capacity_blocks=None)
        own_twin = settings.capacity_blocks is None and self._fleet is None
        self._twin = None if own_twin else engine.build(unbounded)
        # In steps and in seconds not all that came before is computed when it is asked for.
        alone = replace(unbounded, schedule="sequential", step_cost=None)
        self._settled = None if settings.schedule == "sequential" else engine.build(alone)
        self._first_tokens = self._new_first_tokens()
        self._bill = (
            Bill(engine.provider, settings.model, plan.lifetimes)
            if engine.provider is not None and billed
            else None
        )
        self._log = LogLedger()
        self._served, self._unbounded, self._shared = CacheLedger(), CacheLedger(), CacheLedger()
        self._ready = CacheLedger()

    def _new_interner(self) -> Interner:
        size = self.settings.block_size
        return make_interner(
            block_units=1 if self.prompts.holds_blocks else size,
            tails=self.engine.partial_blocks and size > 1,
            small=self.settings.small,
        )

    def _new_cache(self) -> CacheModel:
        fleet, tiers = self.plan.fleet, self.plan.tiers
        if fleet is not None:
            units = self._interner.block_units
            return FleetCache(fleet, self.engine, self.settings, block_units=units)
        if tiers is not None:
            return with_tiers(
                self.engine, self.settings, tiers, per_token=self.plan.kv_bytes_per_token
            )
        return self.engine.build(self.settings)

    def _new_isolated(self) -> Isolated | None:
        plan = self.plan.isolation
        if plan is None:
            return None
        if self.engine.provider is not None:
            raise UsageError(
                f"--isolate: the cache of {self.engine.name} is one customer's; leave it out"
            )
        return Isolated(plan, self._new_interner(), self._new_cache)

    def _new_first_tokens(self) -> FirstTokens | None:
        roofline = self.plan.costing.roofline if self.plan.costing is not None else None
        if roofline is None:
            return None
        rates: list[float] = []
        if self._tiered is not None and self.plan.tiers is not None:
            rates = tier_bytes_per_s(self._tiered, self.plan.tiers, roofline)
        cold = None
        if self.settings.schedule == "timed":
            cold = ColdSchedule(self.engine.build(self.settings), self._new_interner())
        return FirstTokens(roofline, rates, cold)

    def _times(self, counted: slice) -> TimesToFirstToken:
        """Return what is known of the counted requests' times, beside their prefills."""
        timed = self._first_tokens
        if timed is None:
            return TimesToFirstToken()
        if timed.scheduled is not None:
            off, on = (seconds[counted] for seconds in timed.scheduled)
            return TimesToFirstToken(scheduled=ScheduledTimes(off, on))
        return TimesToFirstToken(load_s=timed.load_s()[counted] if self._tiered else None)

    def feed(self, batch: PromptBatch) -> None:
        """Serve the batch's requests and keep what became of them."""
        keys = self._interner.intern(batch)
        outcome = self._cache.replay(batch, keys)
        if self.prompts.holds_blocks:
            blocks = batch.prompt_units
        else:
            blocks = -(-batch.prompt_tokens // self.settings.block_size)
        self._log.add(batch)
        if self._origins is not None:
            self._origins.follow(batch, keys, outcome)
        if self._isolated is not None:
            self._isolated.feed(batch, keys)
        self._served.add(outcome, blocks)
        if self._twin is not None:
            self._unbounded.add(self._twin.replay(batch, keys), blocks)
        if self._settled is not None:
            self._ready.add(self._settled.replay(batch, keys), blocks)
            self._schedule = schedule_summary(
                self.settings,
                outcome,
                batch.prompt_tokens,
                step_time=None if self._clock is None else self._clock.words,
            )
        shared_tokens = np.minimum(keys.shared_units * batch.unit_tokens, batch.prompt_tokens)
        self._shared.add_hits(shared_tokens, keys.shared_units, batch.prompt_units)
        timed = None if self._first_tokens is None else self._first_tokens.add(batch, outcome)
        if self._rows is not None:
            self._rows.add(batch, outcome, timed)
        if self._bill is not None:
            self._bill.add(batch, keys, outcome)

    def result(self, spelled: Comparison | None) -> ReplayResult:
        """Sum up; ``spelled`` is the pass that took responses as they would be spelled."""
        counted, log = self._counted(), self._log
        prompt_tokens = log.prompt_tokens.values()
        hit_tokens = self._served.hit_tokens.values()[counted]
        prefix, ideal = self._with_bounds(spelled)
        unbounded = self._unbounded if self._twin is not None else self._served
        unbounded_hits = int(unbounded.hit_tokens.values()[counted].sum())
        fleet = None
        if self._fleet is not None:
            fleet = fleet_summary(
                self._fleet,
                prompt_tokens=prompt_tokens,
                unbounded_hits=unbounded.hit_tokens.values(),
                counted=counted,
                kv_bytes_per_token=self.plan.kv_bytes_per_token,
            )
        return ReplayResult(
            engine=self._engine_summary(),
            prefix=prefix,
            ideal=ideal,
            reported=reported(
                log.reported_prompts.values()[counted], log.reported_hits.values()[counted]
            ),
            lost=self._lost(prefix, ideal, unbounded_hits, fleet),
            fleet=fleet,
            isolation=isolation_summary(
                self._origins,
                self._isolated,
                prompt_tokens=prefix.prompt_tokens,
                run_hits=prefix.hit_tokens,
                counted=counted,
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
            tiers=self._tiers(counted),
            hosted=None if self._bill is None else self._bill.summary(counted, log.span_s()),
            savings=self._savings(spelled is not None),
            schedule=self._schedule,
            remarks=self.engine.remarks(self.settings),
            span_s=log.span_s(),
            prompt_tokens=prompt_tokens,
            output_tokens=log.output_tokens.values(),
        )

    def _lost(
        self,
        prefix: PrefixSummary,
        ideal: PrefixSummary,
        unbounded_hits: int,
        fleet: FleetSummary | None,
    ) -> LostTokens:
        """Return where the computed tokens went; every one of them has one reason."""
        counted = self._counted()
        ready_hits, kept_hits = unbounded_hits, unbounded_hits
        if self._settled is not None:
            ready_hits = int(self._ready.hit_tokens.values()[counted].sum())
            # Without a bound requests meet otherwise, and may even hit less.
            kept_hits = max(unbounded_hits, prefix.hit_tokens)
            ready_hits = max(ready_hits, kept_hits)
        other_replica = fleet.other_replica_tokens if fleet is not None else 0
        invalid = fleet.invalidation if fleet is not None else None
        invalidated = invalid.lost_tokens if invalid is not None else 0
        hosted = {
            reason: int(tokens.values()[counted].sum())
            for reason, tokens in self._served.lost.items()
        }
        return LostTokens(
            first_seen=prefix.prompt_tokens - max(ideal.hit_tokens, ready_hits),
            evicted=kept_hits - prefix.hit_tokens - other_replica - invalidated,
            not_ready=ready_hits - kept_hits,
            last_block=max(ideal.hit_tokens - ready_hits, 0) - sum(hosted.values()),
            other_replica=other_replica,
            invalidated=invalidated,
            **hosted,
        )

    def _tiers(self, counted: slice) -> Sequence[TierSummary] | None:
        """Return what each tier added; the engine's own cache alone only where it can strand."""
        rules, prompts = self.engine.tiers, self._log.prompt_tokens.values()
        cache = self._cache if self._tiered is None else self._tiered.first
        if rules is None or (self._tiered is None and not isinstance(cache, Stranding)):
            return None
        costing = self.plan.costing
        pricing = TierPricing(
            block_size=self.settings.block_size,
            kv_bytes_per_token=self.plan.kv_bytes_per_token,
            roofline=None if costing is None else costing.roofline,
        )
        hits = self._served.hit_tokens if self._tiered is None else self._tiered.tier_tokens[0]
        first = first_tier(
            rules.names[0],
            cache,
            capacity_blocks=self.settings.capacity_blocks,
            peak_blocks=self._served.peak_blocks,
            hit_tokens=int(hits.values()[counted].sum()),
            prompt_tokens=int(prompts[counted].sum()),
            pricing=pricing,
        )
        if self._tiered is None:
            return [first]
        assert self.plan.tiers is not None
        lower = lower_tiers(
            self._tiered, self.plan.tiers, prompt_tokens=prompts, counted=counted, pricing=pricing
        )
        return [first, *lower]

    def _savings(self, bounded: bool) -> Savings | None:
        """Price the hits of the counted requests; ``bounded`` says that others may hit more."""
        if self.plan.costing is None:
            return None
        counted, log = self._counted(), self._log
        savings = summarize_savings(
            self.plan.costing,
            ServedTokens(
                prompt_tokens=log.prompt_tokens.values()[counted],
                hit_tokens=self._served.hit_tokens.values()[counted],
                output_tokens=log.output_tokens.values()[counted],
                measured_ttft_s=log.measured_ttft_s()[counted],
                reported_hits=log.reported_hits.values()[counted],
                span_s=log.span_s(),
                block_size=self.settings.block_size,
                times=self._times(counted),
            ),
        )
        if not bounded:
            return savings
        which = "; of the replay of prompts only, in which generated text never hits"
        return replace(savings, definition=savings.definition + which)

    def _with_bounds(self, spelled: Comparison | None) -> tuple[PrefixSummary, PrefixSummary]:
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
            definition=self._definition(
                self.engine.definition + (", in any tier" if self._tiered is not None else "")
            ),
        )
        if self.engine.provider is None:
            prefix = with_pool(prefix, self._served, self._log.clock_s(), counted)
        if self.engine.name == "ideal" and self._fleet is None:
            return prefix, prefix
        ideal = summarize(
            prompt_tokens,
            # Ideal replicas keep blocks, and so does what is possible for them.
            self._unbounded if self.engine.name == "ideal" else self._shared,
            counted=counted,
            definition=self._definition(
                "longest contiguous prefix that any earlier request in the namespace holds"
            ),
        )
        return prefix, ideal

    def _counted(self) -> slice:
        requests = len(self._log.prompt_tokens.values())
        return slice(first_counted(self.plan.warmup, requests), None)

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
            schedule=settings.schedule,
            exactness=self.engine.exactness(settings),
            rules=rules_read(self.engine),
        )


RANGE = (
    "of two replays: prompts only, where generated text never hits, and with logged responses "
    "tokenized again, which hit where the next turn repeats them"
)
"""What the two ends of a rate are, where a log holds responses as text only."""


def _bounds(prompts_only: PrefixSummary, spelled: PrefixSummary) -> Bounds | None:
    if prompts_only.hit_rate is None or spelled.hit_rate is None:
        return None
    # Generated text that is kept can hit, but in a bounded cache it also takes room.
    low, high = sorted((prompts_only.hit_rate, spelled.hit_rate))
    return Bounds(
        low=low,
        high=high,
        definition=RANGE,
    )
