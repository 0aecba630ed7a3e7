"""The part about tiers below the engine's own cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kvaudit.replay.fleet.cache import fleet_of
from kvaudit.replay.outcomes import CacheModel, Stalling, Stranding
from kvaudit.replay.parts.part import Ledgers, Part
from kvaudit.replay.result import ReplayResult
from kvaudit.replay.setup import Setup
from kvaudit.replay.tier_summary import TierPricing, first_tier, lower_tiers
from kvaudit.replay.tiers import TierLedger


def tier_part(setup: Setup, cache: CacheModel) -> TierPart | None:
    """Return the part; None for the engine's own cache alone, unless that can strand blocks."""
    tiered = isinstance(cache, TierLedger)
    if setup.engine.tiers is None or not (tiered or isinstance(cache, Stranding)):
        return None
    return TierPart(setup, cache)


class TierPart(Part):
    """Sums up what each tier noted itself."""

    def __init__(self, setup: Setup, cache: CacheModel) -> None:
        """Take the cache of the pass."""
        self._setup, self._cache = setup, cache

    def add_to(self, result: ReplayResult, ledgers: Ledgers) -> ReplayResult:
        """Return the result with what each tier added."""
        setup, cache, counted = self._setup, self._cache, ledgers.counted
        tiered = cache if isinstance(cache, TierLedger) else None
        costing, rules = setup.plan.costing, setup.engine.tiers
        assert rules is not None
        pricing = TierPricing(
            block_size=setup.settings.block_size,
            kv_bytes_per_token=setup.plan.kv_bytes_per_token,
            roofline=None if costing is None else costing.roofline,
        )
        hits = ledgers.served.hit_tokens if tiered is None else tiered.tier_tokens[0]
        first = first_tier(
            rules.names[0],
            cache if tiered is None else tiered.first,
            capacity_blocks=_capacity(setup, cache),
            peak_blocks=ledgers.served.peak_blocks,
            hit_tokens=int(hits.values()[counted].sum()),
            prompt_tokens=int(ledgers.prompt_tokens[counted].sum()),
            pricing=pricing,
        )
        if tiered is None:
            return replace(result, tiers=[first])
        assert setup.plan.tiers is not None
        lower = lower_tiers(
            tiered,
            setup.plan.tiers,
            prompt_tokens=ledgers.prompt_tokens,
            counted=counted,
            pricing=pricing,
        )
        stalls = tiered if isinstance(tiered, Stalling) else tiered.first
        remarks = [*result.remarks, *tiered.remarks(counted), *_remarks(stalls)]
        return replace(result, tiers=[first, *lower], remarks=remarks)


def _capacity(setup: Setup, cache: CacheModel) -> int | None:
    """Return the blocks of the first tier, of all replicas together."""
    fleet = fleet_of(cache)
    return setup.settings.capacity_blocks if fleet is None else fleet.one_capacity


def _remarks(cache: object) -> Iterator[str]:
    """Say of how many requests the engine would not have come back."""
    requests = cache.stalled_requests if isinstance(cache, Stalling) else 0
    if requests:
        yield (
            f"{requests:,} request{'s' * (requests > 1)} found more in the tiers below than dram "
            "holds at once: the engine waits for ever there, here it reads what fits"
        )
