"""NVIDIA Dynamo's KV router: the lowest cost in blocks of prefill and decode.

Read from ``lib/kv-router/src/scheduling/selector/default.rs``, ``worker_logit``. The cost of a
worker is ``prefill_load_scale * (prefill blocks - credit * overlap blocks) + decode blocks``,
where prefill blocks are those of this prompt and of the prompts the worker has not yet
prefilled, and decode blocks are the distinct ones of its requests in flight, this one
included. Defaults: scale 1, credit 1 without decay, no weight on the number of requests,
temperature 0, so the lowest cost wins and a tie is drawn. Earlier releases wrote the same cost
as ``overlap_score_weight * prefill blocks + decode blocks`` with a weight of 1.

The router follows the workers' KV events, so it knows what each holds. Here it believes that
a worker keeps the blocks it was sent last, as many as fit: the same until something is evicted.
"""

from __future__ import annotations

from collections import Counter

from kvaudit.replay.fleet.arrival import Arrival
from kvaudit.replay.fleet.index import PrefixIndex
from kvaudit.replay.fleet.loads import Loads
from kvaudit.replay.fleet.router import Router, RouterKind, RouterSettings

OVERLAP_SCORE_CREDIT = 1.0
PREFILL_LOAD_SCALE = 1.0


class DynamoRouter(Router):
    """The default scorer and picker at temperature 0."""

    def __init__(self, settings: RouterSettings, loads: Loads) -> None:
        """Start with workers that hold nothing."""
        super().__init__(settings, loads)
        self._index = PrefixIndex(self.replicas, capacity_blocks=settings.capacity_blocks)
        # Blocks in use: in how many requests in flight each full one is, and how many there
        # are with partial last ones, which are never shared.
        self._uses: list[Counter[int]] = [Counter() for _ in range(self.replicas)]
        self._in_use = PrefixIndex(self.replicas)
        self._tails_in_use = [0] * self.replicas

    def choose(self, arrival: Arrival) -> int:
        """Return the worker of least cost."""
        held = self._index.overlaps(arrival.keys)
        in_use = self._in_use.overlaps(arrival.keys)
        costs = [self._cost(arrival, n, held[n], in_use[n]) for n in range(self.replicas)]
        least = min(costs)
        chosen = self.any_of([n for n, cost in enumerate(costs) if cost == least])
        # The tail of a prompt is evicted first.
        self._index.add(reversed(arrival.keys), chosen)
        self._in_use.add(arrival.keys, chosen)
        self._uses[chosen].update(arrival.keys)
        self._tails_in_use[chosen] += arrival.blocks - len(arrival.keys)
        return chosen

    def _cost(self, arrival: Arrival, replica: int, overlap: int, in_use: int) -> float:
        size = self.settings.block_tokens
        waiting = self.loads.prefill_tokens[replica]
        # An overlap counts in whole blocks, so the last one may exceed the prompt.
        prefill = (waiting + arrival.prompt_tokens) / size - OVERLAP_SCORE_CREDIT * overlap
        new = arrival.blocks - in_use
        decode = len(self._uses[replica]) + self._tails_in_use[replica] + new
        return PREFILL_LOAD_SCALE * max(prefill, 0.0) + decode

    def finished(self, arrival: Arrival, replica: int) -> None:
        """Take the request's blocks out of use."""
        uses = self._uses[replica]
        for key in arrival.keys:
            uses[key] -= 1
            if not uses[key]:
                del uses[key]
                self._in_use.remove(key, replica)
        self._tails_in_use[replica] -= arrival.blocks - len(arrival.keys)

    def cleared(self, replica: int) -> None:
        """Forget what the worker held."""
        self._index.forget(replica)


ROUTER = RouterKind(
    name="dynamo",
    rule=(
        "lowest cost wins, a tie is drawn: blocks to prefill there (waiting ones and this "
        "prompt's, less the blocks it holds) + distinct blocks in use there with this prompt"
    ),
    source="ai-dynamo/dynamo 07a6c9c lib/kv-router/src/scheduling/selector/default.rs",
    make=DynamoRouter,
)
