"""The part about what each request cost and saved: one row each, and the sums."""

from __future__ import annotations

from dataclasses import replace

from kvaudit.cost.savings import (
    ScheduledTimes,
    ServedTokens,
    TimesToFirstToken,
    summarize_savings,
)
from kvaudit.replay.first_tokens import ColdSchedule, FirstTokens
from kvaudit.replay.outcomes import CacheModel
from kvaudit.replay.parts.part import Ledgers, Part, Served
from kvaudit.replay.result import ReplayResult
from kvaudit.replay.rows import RequestRows
from kvaudit.replay.setup import Setup
from kvaudit.replay.tier_summary import tier_bytes_per_s
from kvaudit.replay.tiers import TierLedger

_LOW_END = "; of the replay of prompts only, in which generated text never hits"


def worth_part(setup: Setup, cache: CacheModel) -> WorthPart | None:
    """Return the part; None where neither rows nor prices are asked for."""
    if setup.writer is None and setup.plan.costing is None:
        return None
    return WorthPart(setup, cache)


class WorthPart(Part):
    """Times requests and writes their rows as they are served, and prices them at the end."""

    def __init__(self, setup: Setup, cache: CacheModel) -> None:
        """Take the cache of the pass."""
        self._costing, self._block_size = setup.plan.costing, setup.settings.block_size
        self._is_tiered = isinstance(cache, TierLedger)
        self._first_tokens = _first_tokens(setup, cache)
        self._rows = None if setup.writer is None else _rows(setup)

    def feed(self, served: Served) -> None:
        """Take the next batch."""
        batch, outcome = served.batch, served.outcome
        timed = None if self._first_tokens is None else self._first_tokens.add(batch, outcome)
        if self._rows is not None:
            self._rows.add(batch, outcome, timed)

    def add_to(self, result: ReplayResult, ledgers: Ledgers) -> ReplayResult:
        """Return the result with the price of the hits, where a model was named."""
        if self._costing is None:
            return result
        log, counted = ledgers.log, ledgers.counted
        savings = summarize_savings(
            self._costing,
            ServedTokens(
                prompt_tokens=ledgers.prompt_tokens[counted],
                hit_tokens=ledgers.served.hit_tokens.values()[counted],
                output_tokens=log.output_tokens.values()[counted],
                measured_ttft_s=log.measured_ttft_s()[counted],
                reported_hits=log.reported_hits.values()[counted],
                span_s=log.span_s(counted),
                block_size=self._block_size,
                times=self._times(counted),
            ),
        )
        if ledgers.is_low_end:
            savings = replace(savings, definition=savings.definition + _LOW_END)
        return replace(result, savings=savings)

    def _times(self, counted: slice) -> TimesToFirstToken:
        """Return what is known of the counted requests' times, beside their prefills."""
        timed = self._first_tokens
        if timed is None:
            return TimesToFirstToken()
        if timed.scheduled is not None:
            off, on = (seconds[counted] for seconds in timed.scheduled)
            return TimesToFirstToken(scheduled=ScheduledTimes(off, on))
        return TimesToFirstToken(load_s=timed.load_s()[counted] if self._is_tiered else None)


def _first_tokens(setup: Setup, cache: CacheModel) -> FirstTokens | None:
    costing, tiers = setup.plan.costing, setup.plan.tiers
    if costing is None or costing.roofline is None:
        return None
    rates: list[float] = []
    if isinstance(cache, TierLedger) and tiers is not None:
        rates = tier_bytes_per_s(cache, tiers, costing.roofline)
    cold = None
    if setup.settings.schedule == "timed":
        cold = ColdSchedule(setup.engine.build(setup.settings), setup.interner())
    return FirstTokens(costing.roofline, rates, cold)


def _rows(setup: Setup) -> RequestRows:
    assert setup.writer is not None
    return RequestRows(
        setup.writer,
        setup.engine,
        setup.settings,
        setup.prompts,
        engine_keys=setup.plan.engine_keys,
        costing=setup.plan.costing,
    )
