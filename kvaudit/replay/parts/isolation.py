"""The part about what tenants have of each other's KV."""

from __future__ import annotations

from dataclasses import replace

from kvaudit.core.errors import UsageError
from kvaudit.replay.isolation import Isolated, isolation_summary
from kvaudit.replay.origins import Origins
from kvaudit.replay.outcomes import CacheModel
from kvaudit.replay.parts.part import Ledgers, Part, Served
from kvaudit.replay.result import ReplayResult
from kvaudit.replay.setup import Setup


def isolation_part(setup: Setup, _cache: CacheModel) -> IsolationPart | None:
    """Return the part; None for a provider's cache, which is one customer's."""
    plan, engine = setup.plan.isolation, setup.engine
    if engine.provider is not None:
        if plan is not None:
            raise UsageError(
                f"--isolate: the cache of {engine.name} is one customer's; leave it out"
            )
        return None
    isolated = None if plan is None else Isolated(plan, setup.interner(), setup.cache)
    return IsolationPart(Origins(setup.block_units), isolated)


class IsolationPart(Part):
    """Follows whose KV is hit, and replays with all kept apart where that is asked for."""

    def __init__(self, origins: Origins, isolated: Isolated | None) -> None:
        """Take both empty."""
        self._origins, self._isolated = origins, isolated

    def feed(self, served: Served) -> None:
        """Take the next batch."""
        self._origins.follow(served.batch, served.keys, served.outcome)
        if self._isolated is not None:
            self._isolated.feed(served.batch, served.keys)

    def add_to(self, result: ReplayResult, ledgers: Ledgers) -> ReplayResult:
        """Return the result with the hits across tenants, and the price of isolation."""
        return replace(
            result,
            isolation=isolation_summary(
                self._origins,
                self._isolated,
                prompt_tokens=result.prefix.prompt_tokens,
                run_hits=result.prefix.hit_tokens,
                counted=ledgers.counted,
            ),
        )
