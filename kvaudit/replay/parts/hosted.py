"""The part about a provider's cache: its bill."""

from __future__ import annotations

from dataclasses import replace

from kvaudit.replay.bill import Bill
from kvaudit.replay.outcomes import CacheModel
from kvaudit.replay.parts.part import Ledgers, Part, Served
from kvaudit.replay.result import ReplayResult
from kvaudit.replay.setup import Setup


def hosted_part(setup: Setup, _cache: CacheModel) -> HostedPart | None:
    """Return the part; None for an engine that one runs oneself."""
    provider = setup.engine.provider
    if provider is None:
        return None
    return HostedPart(Bill(provider, setup.settings.model, setup.plan.lifetimes))


class HostedPart(Part):
    """Writes the bill."""

    def __init__(self, bill: Bill) -> None:
        """Take an empty one."""
        self._bill = bill

    def feed(self, served: Served) -> None:
        """Take the next batch."""
        self._bill.add(served.batch, served.keys, served.outcome)

    def add_to(self, result: ReplayResult, ledgers: Ledgers) -> ReplayResult:
        """Return the result with the bill."""
        counted = ledgers.counted
        return replace(result, hosted=self._bill.summary(counted, ledgers.log.span_s(counted)))
