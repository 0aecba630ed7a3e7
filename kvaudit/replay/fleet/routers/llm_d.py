"""llm-d's endpoint picker with its default configuration.

Read from llm-d-inference-scheduler, which the Gateway API inference extension's picker became:
``pkg/epp/config/loader/defaults.go`` (weights: queue 2, KV utilisation 2, prefix 3),
``plugins/scheduling/scorer/{queuedepth,kvcacheutilization,prefix}`` and
``plugins/requestcontrol/dataproducer/approximateprefix`` (blocks of 16 tokens or the engine's,
256 of them at most, and for every server the most recent ones, as many as its metrics say it
has, else 31,250). The highest sum wins; equal ones are shuffled
(gateway-api-inference-extension ``picker/max_score_picker.go``).

Differs: prompts are cut into blocks of tokens, not of four characters a token; metrics are
those of the moment, not of the last scrape.
"""

from __future__ import annotations

from kvaudit.replay.fleet.arrival import Arrival
from kvaudit.replay.fleet.index import PrefixIndex
from kvaudit.replay.fleet.loads import Loads
from kvaudit.replay.fleet.router import Router, RouterKind, RouterSettings

QUEUE_WEIGHT, KV_WEIGHT, PREFIX_WEIGHT = 2.0, 2.0, 3.0
MAX_PREFIX_BLOCKS = 256
BLOCKS_PER_SERVER = 31_250
"""Where the server's metrics do not say how many it has."""


class EndpointPicker(Router):
    """Three scorers, each from 0 to 1, and the picker of the highest sum."""

    def __init__(self, settings: RouterSettings, loads: Loads) -> None:
        """Start with servers that were sent nothing."""
        super().__init__(settings, loads)
        capacity = settings.capacity_blocks or BLOCKS_PER_SERVER
        self._index = PrefixIndex(self.replicas, capacity_blocks=capacity)

    def choose(self, arrival: Arrival) -> int:
        """Return the server of the highest score."""
        keys = arrival.keys[:MAX_PREFIX_BLOCKS]
        matched = self._index.overlaps(keys)
        waiting = [max(0, n - self.settings.max_num_seqs) for n in self.loads.requests]
        shortest, longest = min(waiting), max(waiting)
        scores = []
        for n in range(self.replicas):
            queue = 1.0 if longest == shortest else (longest - waiting[n]) / (longest - shortest)
            prefix = matched[n] / len(keys) if keys else 0.0
            scores.append(
                QUEUE_WEIGHT * queue
                + KV_WEIGHT * (1.0 - self._kv_usage(n))
                + PREFIX_WEIGHT * prefix
            )
        best = max(scores)
        chosen = self.any_of([n for n, score in enumerate(scores) if score == best])
        # Added from the first block on, so a long prompt's beginning is the first to go.
        self._index.add(keys, chosen)
        return chosen

    def _kv_usage(self, replica: int) -> float:
        """Return the share of the KV that requests in flight hold; cached blocks are free."""
        if self.settings.capacity_blocks is None:
            return 0.0
        capacity = self.settings.capacity_blocks * self.settings.block_tokens
        return min(1.0, self.loads.tokens[replica] / capacity)


ROUTER = RouterKind(
    name="llm-d",
    rule=(
        "highest 3 x share of the prompt's blocks that it was sent lately + 2 x shortness of "
        "its queue + 2 x free share of its KV wins, a tie is drawn; only the first 256 blocks "
        "count"
    ),
    source=(
        "llm-d/llm-d-inference-scheduler 159e739 pkg/epp/config/loader/defaults.go, 011f14d "
        "pkg/epp/framework/plugins/requestcontrol/dataproducer/approximateprefix/plugin.go"
    ),
    make=EndpointPicker,
)
