"""Round robin: the replicas in turn."""

from __future__ import annotations

from kvaudit.replay.fleet.arrival import Arrival
from kvaudit.replay.fleet.router import Router, RouterKind


class RoundRobin(Router):
    """Looks at nothing."""

    _next = -1

    def choose(self, arrival: Arrival) -> int:
        """Return the replica after the one before."""
        self._next = (self._next + 1) % self.replicas
        return self._next


ROUTER = RouterKind(name="round-robin", rule="the replicas in turn", source=None, make=RoundRobin)
