"""What a router is to a fleet, and the list of those there are.

A router is one module in ``kvaudit/replay/fleet/routers`` that defines ``ROUTER``. It decides
when a request arrives, from what it was told before: where it sent earlier requests, and what
is in flight. None of them waits or takes a decision back.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean
from kvaudit.replay.fleet import routers
from kvaudit.replay.fleet.arrival import Arrival
from kvaudit.replay.fleet.loads import Loads


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterSettings:
    """What a router is told of the fleet."""

    replicas: int | None
    """None takes as many as the log names."""
    block_tokens: int
    """Tokens of the blocks that arrivals are cut into."""
    capacity_blocks: int | None
    """Such blocks that a replica holds; None is unbounded."""
    max_num_seqs: int
    """Requests that a replica works on at once; the others wait."""
    seed: int


class Router:
    """Chooses a replica for every request, in the order of arrival."""

    def __init__(self, settings: RouterSettings, loads: Loads) -> None:
        """Take the fleet, and what is in flight on it, which changes from call to call."""
        self.settings, self.loads = settings, loads
        self.random = Random(settings.seed)
        self.replicas = settings.replicas or 0

    def choose(self, arrival: Arrival) -> int:
        """Return the number of the replica that serves the request."""
        raise NotImplementedError

    def finished(self, arrival: Arrival, replica: int) -> None:
        """Hear that a request has been answered."""

    def cleared(self, replica: int) -> None:
        """Hear that a replica has lost all its KV, as routers that follow its events do."""

    def name(self, replica: int) -> str:
        """Return what a replica is called."""
        return f"replica-{replica}"

    def any_of(self, equal: Sequence[int]) -> int:
        """Draw one of several replicas that are equally good."""
        return equal[0] if len(equal) == 1 else self.random.choice(equal)


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterKind:
    """A router that can be asked for."""

    name: str
    rule: str
    """How it chooses, as a clause."""
    source: str | None
    """Repository, file and commit where the rule was read; None for common practice."""
    make: Callable[[RouterSettings, Loads], Router]
    counts_replicas: bool = True
    """Whether it must be told how many replicas there are."""


def known_routers() -> Mapping[str, RouterKind]:
    """Return all routers by name."""
    modules = sorted(module.name for module in pkgutil.iter_modules(routers.__path__))
    found = [importlib.import_module(f"{routers.__name__}.{name}").ROUTER for name in modules]
    return {router.name: router for router in found}


def find_router(name: str) -> RouterKind:
    """Return the router of that name, or raise `UsageError` with the nearest one."""
    known = known_routers()
    if name not in known:
        raise UsageError(f"--router {name} is not modelled{did_you_mean(name, known)}")
    return known[name]
