"""The same cache as `reference`, a block of requests at a time: the products are matrix products.

Nothing is approximated: what is near is looked up for a block of requests at once, among what the
cache held before it and the block's own texts; the decisions are then taken one by one, in order.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.semantic.decide import Decider, Nodes
from kvaudit.replay.semantic.encoder import Vectors
from kvaudit.replay.semantic.search import (
    MOST_NEAR,
    NONE_NEAR,
    Near,
    NumpyProducts,
    Products,
    Searcher,
)
from kvaudit.replay.semantic.serving import Lookups, Rules, Served

BLOCK_REQUESTS = 512
SLACK_COLUMNS = 1024
"""Dead columns that are not worth a walk over all of them."""

MakeProducts = Callable[[Vectors, float], Products]
"""From the vectors of all texts and the least threshold."""


def serve(
    lookups: Lookups,
    rules: Rules,
    block_requests: int = BLOCK_REQUESTS,
    make_products: MakeProducts = NumpyProducts,
) -> Served:
    """Serve every request in turn; the same outcome as `reference.serve`."""
    count = len(lookups.arrived_s)
    products = make_products(lookups.vectors, float(lookups.cosines.min(initial=1)))
    cache = BlockCache(lookups, rules, products)
    for start in range(0, count, block_requests):
        cache.serve(np.arange(start, min(start + block_requests, count)))
    return cache.served


class BlockCache:
    """The cache, and the nodes among which a block's texts are looked up."""

    def __init__(self, lookups: Lookups, rules: Rules, products: Products) -> None:
        """Start empty."""
        self._lookups, self._top_k = lookups, rules.top_k
        self._nodes = Nodes(lookups)
        self._searcher = Searcher(products, lookups.vectors, self._nodes.texts)
        self._decider = Decider(lookups, rules, self._nodes, self._all_near)
        self._columns: dict[int, NDArray[np.int64]] = {}
        """Nodes that have or had an entry, by partition."""
        self._new: dict[int, NDArray[np.int64]] = {}
        """Of the block at hand: nodes without one before it, by partition."""
        self._is_column = np.zeros(len(self._nodes.texts), np.bool_)

    @property
    def served(self) -> Served:
        """What became of the requests so far."""
        return self._decider.served

    def serve(self, block: NDArray[np.int64]) -> None:
        """Serve the next requests."""
        near = self._near(block)
        for i, node in zip(block.tolist(), self._nodes.of[block].tolist(), strict=True):
            self._decider.serve(i, near[node])
        for number, fresh in self._new.items():
            entered = [node for node in fresh.tolist() if self._decider.entries.get(node)]
            self._append(number, np.array(entered, np.int64))
        if self._decider.lives.mortal:
            self._forget_dead()

    def _near(self, block: NDArray[np.int64]) -> dict[int, Near]:
        """Return what is near each of the block's texts, by node."""
        nodes, of = np.unique(self._nodes.of[block], return_inverse=True)
        floors = np.full(len(nodes), np.inf)
        np.minimum.at(floors, of, self._lookups.cosines[block])
        partitions = self._nodes.partitions[nodes]
        near: dict[int, Near] = {}
        self._new = {}
        for number in np.unique(partitions).tolist():
            own = partitions == number
            rows = nodes[own]
            self._new[number] = rows[~self._is_column[rows]]
            found = self._searcher.near(
                rows, self._among(number), floors[own], most=max(MOST_NEAR, 4 * self._top_k)
            )
            near.update(zip(rows.tolist(), found, strict=True))
        return near

    def _among(self, number: int) -> NDArray[np.int64]:
        """Return the nodes of a partition that have an entry, or may have one in this block."""
        columns = self._columns.get(number)
        fresh = self._new[number]
        return fresh if columns is None else np.concatenate((columns, fresh))

    def _all_near(self, i: int) -> Near:
        """Return every neighbour of a request's text."""
        node = self._nodes.of[i : i + 1]
        number = int(self._nodes.partitions[node[0]])
        columns = self._among(number)
        floors = self._lookups.cosines[i : i + 1]
        found = self._searcher.near(node, columns, floors, most=len(columns))
        return found[0] if found else NONE_NEAR

    def _append(self, number: int, nodes: NDArray[np.int64]) -> None:
        if len(nodes):
            self._is_column[nodes] = True
            columns = self._columns.get(number)
            self._columns[number] = nodes if columns is None else np.concatenate((columns, nodes))

    def _forget_dead(self) -> None:
        """Take away nodes of which no entry can be served again, once they are most of all."""
        lives, entries = self._decider.lives, self._decider.entries
        if sum(map(len, self._columns.values())) <= 2 * lives.alive + SLACK_COLUMNS:
            return
        for number, nodes in self._columns.items():
            kept = []
            for node in nodes.tolist():
                left = [entry for entry in entries[node] if not lives.is_gone(entry)]
                if left:
                    entries[node] = left
                    kept.append(node)
                else:
                    del entries[node]
            self._is_column[nodes] = False
            self._columns[number] = np.array(kept, np.int64)
            self._is_column[self._columns[number]] = True
