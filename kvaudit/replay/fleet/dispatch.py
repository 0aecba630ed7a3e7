"""Sends the requests of a log to replicas."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.engine import CacheSettings
from kvaudit.replay.fleet.arrival import Arrivals
from kvaudit.replay.fleet.loads import Loads
from kvaudit.replay.fleet.members import Clearing
from kvaudit.replay.fleet.plan import FleetPlan
from kvaudit.replay.fleet.router import RouterSettings, find_router


class Dispatcher:
    """A router and what is in flight behind it; remembers from batch to batch."""

    def __init__(self, plan: FleetPlan, settings: CacheSettings, *, block_units: int) -> None:
        """Take the replicas' cache settings, and the interner's blocks in units."""
        kind = find_router(plan.router)
        replicas = plan.instances or 0
        self._loads = Loads(replicas)
        self._arrivals = Arrivals(
            block_units=block_units, block_tokens=settings.block_size, replicas=replicas or 1
        )
        capacity = settings.capacity_blocks
        self.router = kind.make(
            RouterSettings(
                replicas=plan.instances,
                block_tokens=self._arrivals.block_tokens,
                capacity_blocks=(
                    None if capacity is None else max(1, capacity // self._arrivals.stride)
                ),
                max_num_seqs=settings.limits.max_num_seqs,
                seed=plan.seed,
            ),
            self._loads,
        )

    @property
    def replicas(self) -> int:
        """How many replicas there are, or were met so far."""
        return self.router.replicas

    def route(
        self, prompts: PromptBatch, blocks: BlockBatch, clearings: Sequence[Clearing] = ()
    ) -> NDArray[np.int64]:
        """Return the replica of each request; ``clearings`` come between them, in order."""
        routes = np.empty(len(prompts.prompt_tokens), np.int64)
        loads, router = self._loads, self.router
        events = list(clearings)
        for n, arrival in enumerate(self._arrivals.of(prompts, blocks)):
            while events and events[0].at == n:
                self._clear(events.pop(0).reach)
            for ended, replica in loads.advance(arrival.span.arrived):
                router.finished(ended, replica)
            chosen = router.choose(arrival)
            loads.grow(router.replicas)
            loads.add(arrival, chosen)
            routes[n] = chosen
        return routes

    def _clear(self, reach: int | None) -> None:
        replicas = self.router.replicas
        for replica in range(replicas if reach is None else min(reach, replicas)):
            self.router.cleared(replica)

    def in_flight(self) -> str:
        """Say by what requests were taken to be in flight."""
        return self._arrivals.timeline.basis()
