"""What is asked of a sweep, and the passes over one log that answer it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from kvaudit.core.errors import UsageError
from kvaudit.core.prompts import PromptBatch
from kvaudit.core.quantities import Capacity
from kvaudit.replay.curve_groups import Groups
from kvaudit.replay.curve_pass import CurvePass
from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.ledger import LogLedger
from kvaudit.replay.plan import Plan
from kvaudit.replay.prompts import Prompts

if TYPE_CHECKING:
    from kvaudit.replay.fleet.plan import FleetPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPlan:
    """What is swept through what."""

    cache: Plan
    """Its capacity, where it has one, is a point of the default grid."""
    capacities: Sequence[Capacity] = ()
    """The points, in this order; empty chooses some."""
    block_sizes: Sequence[int] = ()
    policies: Sequence[str] = ()
    fleets: Sequence[FleetPlan] = ()
    grouped_by: str | None = None
    optimal: bool = True
    """Whether the cache that knows the future is swept too."""


class Passes:
    """The passes over one log: at the engine's block size, and at others."""

    def __init__(
        self, engine: Engine, settings: CacheSettings, plan: SweepPlan, prompts: Prompts
    ) -> None:
        """Set up empty passes."""
        self.engine, self.settings, self.plan, self.prompts = engine, settings, plan, prompts
        holds_blocks = bool(prompts.holds_blocks)
        if holds_blocks and any(size != settings.block_size for size in plan.block_sizes):
            raise UsageError(
                f"--block-sizes: the log holds hashes of blocks of {settings.block_size} tokens, "
                "which cannot be cut anew; leave the option out"
            )
        tiers = plan.cache.tiers
        # Routers look at the text, and LMCache cuts it into chunks of its own.
        keeps_units = bool(plan.fleets) or (tiers is not None and tiers.is_lmcache)
        self.main = CurvePass(engine, settings, holds_blocks=holds_blocks, keeps_units=keeps_units)
        self.sizes = {
            size: self.main
            if size == settings.block_size
            else CurvePass(engine, replace(settings, block_size=size), holds_blocks=False)
            for size in plan.block_sizes
        }
        self.log = LogLedger()
        self.groups = Groups(plan.grouped_by)

    def feed(self, batch: PromptBatch) -> None:
        """Read the next batch."""
        self.log.add(batch)
        self.groups.add(batch, len(batch.prompt_tokens))
        for each in self._each():
            each.feed(batch)

    def watch(self, watch: Callable[[], None]) -> None:
        """Have ``watch`` called after every capacity."""
        for each in self._each():
            each.watch = watch

    def _each(self) -> Iterable[CurvePass]:
        return {id(p): p for p in (self.main, *self.sizes.values())}.values()


class PassesOfLog(NamedTuple):
    """What one reading of a log gives."""

    own: Passes
    """Over prompts only, where the log holds responses as text."""
    spelled: Passes | None
    """Over responses as the next turn would spell them; None where the log has no such."""
