"""The part about several replicas."""

from __future__ import annotations

from dataclasses import replace

from kvaudit.replay.fleet.cache import FleetCache, fleet_of
from kvaudit.replay.fleet.summary import fleet_summary
from kvaudit.replay.losses import lost_between_replicas
from kvaudit.replay.outcomes import CacheModel
from kvaudit.replay.parts.part import Ledgers, Part
from kvaudit.replay.result import ReplayResult
from kvaudit.replay.setup import Setup


def fleet_part(setup: Setup, cache: CacheModel) -> FleetPart | None:
    """Return the part; None for one cache without a router."""
    fleet = fleet_of(cache)
    if fleet is None:
        return None
    return FleetPart(fleet, setup.plan.kv_bytes_per_token)


class FleetPart(Part):
    """Sums up what the replicas noted themselves."""

    def __init__(self, fleet: FleetCache, kv_bytes_per_token: int | None) -> None:
        """Take the replicas of the pass."""
        self._fleet, self._kv_bytes_per_token = fleet, kv_bytes_per_token

    def add_to(self, result: ReplayResult, ledgers: Ledgers) -> ReplayResult:
        """Return the result with the replicas' shares, and what was lost between them."""
        fleet = fleet_summary(
            self._fleet,
            prompt_tokens=ledgers.prompt_tokens,
            unbounded_hits=ledgers.kept.hit_tokens.values(),
            counted=ledgers.counted,
            kv_bytes_per_token=self._kv_bytes_per_token,
        )
        lost = lost_between_replicas(
            result.lost,
            other_replica=fleet.other_replica_tokens,
            invalidated=0 if fleet.invalidation is None else fleet.invalidation.lost_tokens,
        )
        return replace(result, fleet=fleet, lost=lost)
