"""Least loaded: the replica with the fewest requests in flight."""

from __future__ import annotations

from kvaudit.replay.fleet.arrival import Arrival
from kvaudit.replay.fleet.router import Router, RouterKind


class LeastLoaded(Router):
    """Counts requests, then their tokens, then what was served so far."""

    def choose(self, arrival: Arrival) -> int:
        """Return the replica with the least to do."""
        loads = self.loads
        return min(
            range(self.replicas),
            key=lambda n: (loads.requests[n], loads.tokens[n], loads.served[n]),
        )


ROUTER = RouterKind(
    name="least-loaded",
    rule=(
        "fewest requests in flight; of equals the one with the fewest tokens in flight, then "
        "the one that served the fewest requests"
    ),
    source=None,
    make=LeastLoaded,
)
