"""What an analysis outside of the replay is told of every batch."""

from __future__ import annotations

import numpy as np

from kvaudit.core.lookups import Follower, Lookups
from kvaudit.replay.fleet.cache import fleet_of
from kvaudit.replay.outcomes import CacheModel
from kvaudit.replay.parts.part import Ledgers, Part, Served
from kvaudit.replay.result import ReplayResult


class FollowedPart(Part):
    """Passes each batch on; adds nothing to the result itself."""

    def __init__(self, follower: Follower, cache: CacheModel) -> None:
        """Take who follows, and the cache that is asked about."""
        self._follower = follower
        self._fleet = fleet_of(cache)

    def feed(self, served: Served) -> None:
        """Pass the next batch on."""
        none = np.zeros(len(served.batch.requests), np.int64)
        hosted, fleet = served.outcome.hosted, self._fleet
        elsewhere = none if fleet is None else fleet.ledger.elsewhere.values()[-len(none) :]
        self._follower.add(
            Lookups(
                prompts=served.batch,
                hit_tokens=served.outcome.cached_tokens,
                kept_tokens=served.kept.cached_tokens,
                shared_units=served.keys.shared_units,
                expired_tokens=none if hosted is None else hosted.lost.get("expired", none),
                parameter_tokens=(
                    none if hosted is None else hosted.lost.get("parameter_change", none)
                ),
                elsewhere_tokens=elsewhere,
                evicted_blocks=served.outcome.evicted_blocks,
                block_units=served.keys.block_units,
                keys=served.keys.keys,
                key_offsets=served.keys.key_offsets,
            )
        )

    def add_to(self, result: ReplayResult, ledgers: Ledgers) -> ReplayResult:
        """Return the result as it is."""
        return result
