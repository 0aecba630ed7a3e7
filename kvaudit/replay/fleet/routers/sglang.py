"""SGLang's gateway, policy ``cache_aware``.

Read from ``sgl-model-gateway/src/policies/cache_aware.rs`` and ``tree.rs``, with the defaults of
the command line (``bindings/python/src/sglang_router/router_args.py``). Where the loads differ
by more than 64 requests and by more than half, the worker with the fewest requests wins. Else
the tree of all texts that were sent is matched: if more than 0.3 of the prompt is found, the
worker that first sent the deepest node wins (``last_tenant`` is set when a node is made), and
if not, the worker with the fewest requests. The comment at the head of the file still says
"smallest tree"; the code counts requests. Of equal ones the first wins.

Differs: the tree is matched in blocks of tokens, not in characters, and is never trimmed (the
gateway trims a worker's share to 2^26 characters once a minute).
"""

from __future__ import annotations

from kvaudit.replay.fleet.arrival import Arrival
from kvaudit.replay.fleet.loads import Loads
from kvaudit.replay.fleet.router import Router, RouterKind, RouterSettings

CACHE_THRESHOLD = 0.3
BALANCE_ABS_THRESHOLD = 64
BALANCE_REL_THRESHOLD = 1.5


class CacheAware(Router):
    """The approximate tree, by block."""

    def __init__(self, settings: RouterSettings, loads: Loads) -> None:
        """Start with an empty tree."""
        super().__init__(settings, loads)
        self._first_sent_to: dict[int, int] = {}

    def choose(self, arrival: Arrival) -> int:
        """Return the worker of the longest match, or the least loaded one."""
        requests = self.loads.requests
        fewest, most = min(requests), max(requests)
        chosen = requests.index(fewest)
        imbalanced = most - fewest > BALANCE_ABS_THRESHOLD and most > fewest * BALANCE_REL_THRESHOLD
        if not imbalanced:
            chosen = self._match(arrival, otherwise=chosen)
        for key in arrival.keys:
            self._first_sent_to.setdefault(key, chosen)
        return chosen

    def _match(self, arrival: Arrival, otherwise: int) -> int:
        owner, matched = otherwise, 0
        for key in arrival.keys:
            known = self._first_sent_to.get(key)
            if known is None:
                break
            owner, matched = known, matched + 1
        rate = matched * self.settings.block_tokens / max(arrival.prompt_tokens, 1)
        return owner if rate > CACHE_THRESHOLD else otherwise


ROUTER = RouterKind(
    name="sglang",
    rule=(
        "if more than 0.3 of the prompt was sent before, the replica it first went to; else, "
        "or where requests in flight differ by more than 64 and by half, the one with the "
        "fewest"
    ),
    source="sgl-project/sglang 053b63f sgl-model-gateway/src/policies/cache_aware.rs",
    make=CacheAware,
)
