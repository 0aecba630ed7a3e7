"""What is asked of a fleet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from kvaudit.replay.fleet.invalidation import Invalidation


class Sharing(StrEnum):
    """What replicas have of each other's KV."""

    NONE = "none"
    POOL = "pool"
    BROADCAST = "broadcast"


class HashSeeds(StrEnum):
    """Whether all replicas start their chains of block hashes from the same value."""

    SAME = "same"
    DIFFER = "differ"


BROADCAST_AFTER = 3
"""In how many sessions a block must have been asked for before it is sent to all replicas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPlan:
    """The replicas and their router."""

    instances: int | None
    """None takes as many as the log names, which only the ``logged`` router can."""
    router: str
    sharing: Sharing = Sharing.NONE
    broadcast_after: int = BROADCAST_AFTER
    hash_seeds: HashSeeds = HashSeeds.SAME
    invalidations: Sequence[Invalidation] = ()
    seed: int = 0
    """Decides where a router draws among equals."""
