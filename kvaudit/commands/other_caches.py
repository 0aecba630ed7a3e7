"""Caches in which what one cache lost might be kept: larger, longer, or with another router."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kvaudit.core.prompts import RequestFacts
from kvaudit.core.why import Cause
from kvaudit.cost.providers.facts import all_providers

if TYPE_CHECKING:
    from kvaudit.commands.recording import Recording
    from kvaudit.replay.plan import Plan

OF_CACHE = (Cause.EVICTED, Cause.EXPIRED, Cause.OTHER_REPLICA, Cause.PARAMETER_CHANGE)
"""Causes that no text is to blame for."""
_ROUTERS = ("session-affinity", "prefix-hash")
"""Routers that send what shares a prefix to one replica, and need no report from the engines."""


class Other(NamedTuple):
    """One cache, and what is done to have it."""

    fix: str
    plan: Plan
    recording: Recording


def other_caches(cause: Cause, plan: Plan, recording: Recording) -> Iterator[Other]:
    """Yield the caches that are tried against a cause."""
    if cause is Cause.EVICTED and plan.capacity.amount is not None:
        more = replace(plan.capacity, amount=2 * plan.capacity.amount)
        yield Other(f"double the capacity to {more}", replace(plan, capacity=more), recording)
    elif cause is Cause.EXPIRED and plan.engine is not None:
        provider = all_providers().get(plan.engine)
        lifetimes = {} if provider is None else provider.lifetimes
        for name in sorted(lifetimes, key=lambda name: lifetimes[name])[-1:]:
            longer = replace(plan, lifetimes=(name,))
            yield Other(f"ask for the longest lifetime, {name}", longer, recording)
    elif cause is Cause.OTHER_REPLICA and plan.fleet is not None:
        for router in _ROUTERS:
            if router != plan.fleet.router:
                fleet = replace(plan.fleet, router=router)
                yield Other(f"route by {router}", replace(plan, fleet=fleet), recording)
    elif cause is Cause.PARAMETER_CHANGE:
        held = recording.with_facts(_Held().held)
        yield Other("hold the parameters fixed in each session", plan, held)


class _Held:
    """Keeps what the first request of a session asked the cache for."""

    def __init__(self) -> None:
        self._first: dict[str, dict[str, object] | None] = {}

    def held(self, facts: RequestFacts) -> RequestFacts:
        """Return the facts with the parameters of the session's first request."""
        if facts.session is None:
            return facts
        return facts._replace(
            cache_options=self._first.setdefault(facts.session, facts.cache_options)
        )
