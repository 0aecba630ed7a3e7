"""What one pass is set up with, and the empty caches that this means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kvaudit.replay.blocks import Interner
from kvaudit.replay.caches import make_interner
from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.fleet.cache import FleetCache
from kvaudit.replay.outcomes import CacheModel
from kvaudit.replay.plan import Plan, first_counted
from kvaudit.replay.prompt_stream import PromptStream
from kvaudit.replay.rows import RowWriter
from kvaudit.replay.step_clock import StepClock
from kvaudit.replay.tier_caches import tier_blocks, with_tiers

if TYPE_CHECKING:
    from kvaudit.replay.device.assembly import Assembly


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The engine, how its cache is set up, what is asked for, and the log."""

    engine: Engine
    settings: CacheSettings
    plan: Plan
    prompts: PromptStream
    clock: StepClock | None = None
    """How long a step takes; None unless the schedule is ``timed``."""
    writer: RowWriter | None = None
    """Takes one row a request."""
    device: Assembly | None = None
    """What the cache is to be run on; None only simulates it."""

    @property
    def block_units(self) -> int:
        """Units of a block: 1 where the log holds blocks."""
        return 1 if self.prompts.holds_blocks else self.settings.block_size

    def interner(self) -> Interner:
        """Return an empty interner."""
        return make_interner(
            block_units=self.block_units,
            tails=self.engine.keeps_partial(self.settings) and self.block_units > 1,
            small=self.settings.small,
        )

    def cache(self) -> CacheModel:
        """Return the empty cache that is asked about, on its device where there is one."""
        simulated = self._simulated()
        if self.device is None:
            return simulated
        rules, tiers = self.engine.tiers, self.plan.tiers
        assert rules is not None
        below = (
            ()
            if tiers is None
            else tier_blocks(
                tiers,
                block_size=self.settings.block_size,
                per_token=self.plan.kv_bytes_per_token,
            )
        )
        return self.device.cache(
            simulated,
            names=rules.names,
            lower_blocks=below,
            whole_prompt=tiers is not None and rules.whole_prompt,
        )

    def _simulated(self) -> CacheModel:
        """Return one cache, several replicas, or tiers."""
        fleet, tiers = self.plan.fleet, self.plan.tiers
        if fleet is not None and tiers is not None:
            from kvaudit.replay.fleet.tiered_setup import tiered_fleet

            return tiered_fleet(
                fleet,
                self.engine,
                self.settings,
                tiers,
                per_token=self.plan.kv_bytes_per_token,
                block_units=self.block_units,
            )
        if fleet is not None:
            return FleetCache(fleet, self.engine, self.settings, block_units=self.block_units)
        if tiers is not None:
            return with_tiers(
                self.engine,
                self.settings,
                tiers,
                per_token=self.plan.kv_bytes_per_token,
                lmcache_namespaces=self.prompts.lmcache_namespaces,
            )
        return self.engine.build(self.settings)

    def twin(self) -> CacheModel | None:
        """Return one cache of the same rules without a bound; None where ``cache`` is that."""
        if self.settings.capacity_blocks is None and self.plan.fleet is None:
            return None
        return self.engine.build(self._unbounded())

    def settled(self) -> CacheModel | None:
        """Return the twin of a cache in time, with every request done before the next comes.

        In steps and in seconds not all that came before is computed when it is asked for.
        None where ``cache`` is not in time.
        """
        if self.settings.schedule == "sequential":
            return None
        return self.engine.build(replace(self._unbounded(), schedule="sequential", step_cost=None))

    def _unbounded(self) -> CacheSettings:
        return replace(self.settings, capacity_blocks=None)

    def counted(self, requests: int) -> slice:
        """Return which of so many requests count; the others are the warm-up."""
        return slice(first_counted(self.plan.warmup, requests), None)
