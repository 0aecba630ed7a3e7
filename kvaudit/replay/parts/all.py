"""All parts, in the order in which they are shown a batch and add to the result."""

from __future__ import annotations

from collections.abc import Callable

from kvaudit.replay.outcomes import CacheModel, OnDevice
from kvaudit.replay.parts.device import device_part
from kvaudit.replay.parts.fleet import fleet_part
from kvaudit.replay.parts.hosted import hosted_part
from kvaudit.replay.parts.isolation import isolation_part
from kvaudit.replay.parts.part import Part
from kvaudit.replay.parts.schedule import schedule_part
from kvaudit.replay.parts.tiers import tier_part
from kvaudit.replay.parts.unkeyed import unkeyed_part
from kvaudit.replay.parts.worth import worth_part
from kvaudit.replay.setup import Setup

PARTS: tuple[Callable[[Setup, CacheModel], Part | None], ...] = (
    isolation_part,
    schedule_part,
    worth_part,
    hosted_part,
    fleet_part,
    tier_part,
    unkeyed_part,
)


def parts_of(setup: Setup, cache: CacheModel) -> list[Part]:
    """Return the parts that this pass has; ``cache`` is the one that serves it."""
    simulated = cache.simulated if isinstance(cache, OnDevice) else cache
    made = [*(make(setup, simulated) for make in PARTS), device_part(setup, cache)]
    return [part for part in made if part is not None]
