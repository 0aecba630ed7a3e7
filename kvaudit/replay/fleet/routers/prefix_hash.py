"""Prefix hash: a consistent hash of how the prompt begins, unless that replica is overloaded."""

from __future__ import annotations

from kvaudit.replay.fleet.arrival import Arrival
from kvaudit.replay.fleet.loads import Loads
from kvaudit.replay.fleet.ring import HashRing
from kvaudit.replay.fleet.router import Router, RouterKind, RouterSettings

LOAD_FACTOR = 1.25


class PrefixHash(Router):
    """SGLang's gateway policy of that name (``policies/prefix_hash.rs``)."""

    def __init__(self, settings: RouterSettings, loads: Loads) -> None:
        """Place the replicas."""
        super().__init__(settings, loads)
        self._ring = HashRing(self.replicas)

    def choose(self, arrival: Arrival) -> int:
        """Return the replica of the prompt's beginning, else the least loaded one."""
        own = self._ring.replica(arrival.head)
        requests = self.loads.requests
        # load_ok: the request that has just come is counted in the mean.
        most = (sum(requests) + 1) / self.replicas * LOAD_FACTOR
        if not any(requests) or requests[own] <= most:
            return own
        free = [n for n in range(self.replicas) if requests[n] <= most]
        return min(free, key=requests.__getitem__, default=own)


ROUTER = RouterKind(
    name="prefix-hash",
    rule=(
        "a consistent hash of the first 256 tokens, or of the first block of a log of larger "
        "blocks; a replica with more than 1.25 times the mean number of requests in flight "
        "hands over to the one with the fewest"
    ),
    source="sgl-project/sglang 065f331 sgl-model-gateway/src/policies/prefix_hash.rs",
    make=PrefixHash,
)
