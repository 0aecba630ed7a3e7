"""AIBrix's prefix-cache routing, with its guards against imbalance.

Read from ``pkg/plugins/gateway/algorithms/prefix_cache.go`` and
``pkg/utils/prefixcacheindexer/hash.go``. Where the busiest pod has more than twice (mean + 1)
requests and at least 8 more than the idlest, only the idlest pods are matched. Of the pods that
match, the one with the highest whole per cent wins whose requests do not exceed the mean by
more than one (sample) standard deviation; of equal ones that with fewer requests, then one by
draw. Where none is left the pod with the fewest requests wins, a tie is drawn. The table holds
200,000 blocks of all pods, the least recently used goes first, and a block for 20 minutes.

Differs: blocks of the replay's size, where AIBrix cuts four bytes of text; with the token clock
blocks do not age.
"""

from __future__ import annotations

from collections import OrderedDict
from statistics import fmean, stdev

from kvaudit.replay.fleet.arrival import Arrival
from kvaudit.replay.fleet.loads import Loads
from kvaudit.replay.fleet.router import Router, RouterKind, RouterSettings

IMBALANCE_FACTOR, IMBALANCE_GAP = 2.0, 8
DEVIATIONS = 1
TABLE_BLOCKS = 200_000
BLOCK_AGE_S = 20 * 60.0


class PrefixCacheRouter(Router):
    """The gateway's own index, without KV events."""

    def __init__(self, settings: RouterSettings, loads: Loads) -> None:
        """Start with an empty table."""
        super().__init__(settings, loads)
        # By key: the pods it was sent to, as bits, and when it was last used.
        self._table: OrderedDict[int, tuple[int, float]] = OrderedDict()

    def choose(self, arrival: Arrival) -> int:
        """Return the pod with most of the prompt that is not overloaded."""
        timed = arrival.facts.arrived_s is not None
        self._expire(arrival.span.arrived if timed else 0.0)
        requests = self.loads.requests
        matched = self._matched(arrival.keys, self._matchable(requests))
        chosen = self._of_matched(matched, requests)
        if chosen is None:
            fewest = min(requests)
            chosen = self.any_of([n for n, count in enumerate(requests) if count == fewest])
        for key in arrival.keys:
            pods, _ = self._table.pop(key, (0, 0.0))
            self._table[key] = (pods | 1 << chosen, arrival.span.arrived)
        while len(self._table) > TABLE_BLOCKS:
            self._table.popitem(last=False)
        return chosen

    def _expire(self, now: float) -> None:
        while self._table:
            key = next(iter(self._table))
            if now - self._table[key][1] <= BLOCK_AGE_S:
                return
            del self._table[key]

    def _matchable(self, requests: list[int]) -> int:
        """Return the pods that may be matched, as bits (``getTargetPodListOnLoadImbalance``)."""
        fewest, most = min(requests), max(requests)
        if most <= IMBALANCE_FACTOR * (fmean(requests) + 1) or most - fewest < IMBALANCE_GAP:
            return (1 << self.replicas) - 1
        return sum(1 << n for n, count in enumerate(requests) if count == fewest)

    def _matched(self, keys: list[int], pods: int) -> dict[int, int]:
        """Return the per cent of the prompt that each matching pod was sent, without a gap."""
        ends: list[tuple[int, int]] = []  # pods that match no further than so many blocks
        for depth, key in enumerate(keys):
            here = self._table.get(key, (0, 0.0))[0] & pods
            if here != pods:
                ends.append((pods & ~here, depth))
                pods = here
                if not pods:
                    break
        else:
            ends.append((pods, len(keys)))
        return {
            n: depth * 100 // len(keys)
            for bits, depth in ends
            if depth
            for n in range(self.replicas)
            if bits >> n & 1
        }

    def _of_matched(self, matched: dict[int, int], requests: list[int]) -> int | None:
        """Return the best matching pod whose load is in bounds, or None."""
        most = fmean(requests) + DEVIATIONS * (stdev(requests) if len(requests) > 1 else 0.0)
        able = {n: percent for n, percent in matched.items() if requests[n] <= most}
        if not able:
            return None
        best = max((percent, -requests[n]) for n, percent in able.items())
        return self.any_of([n for n in sorted(able) if (able[n], -requests[n]) == best])


ROUTER = RouterKind(
    name="aibrix",
    rule=(
        "most per cent of the prompt's blocks sent there within 20 minutes wins, if its "
        "requests in flight exceed the mean by one standard deviation at most; else the fewest "
        "requests; under heavy imbalance only the idlest replicas are matched"
    ),
    source="vllm-project/aibrix 01de8a5 pkg/plugins/gateway/algorithms/prefix_cache.go",
    make=PrefixCacheRouter,
)
