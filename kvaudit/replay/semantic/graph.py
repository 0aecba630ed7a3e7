"""What is near what, found once for all thresholds: a sweep replays on it as often as it likes.

The edges join all texts of a hard key that are at least as near as the strictest floor that keeps
them few; entries, lifetimes, guards and thresholds are a replay's own, so one graph serves every
policy that embeds and keeps apart the same. Below its floor a graph says nothing, and what asks
below it is replayed by `blocks`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.semantic.decide import Decider, Nodes
from kvaudit.replay.semantic.search import NONE_NEAR, Near, NumpyProducts, Part, Searcher
from kvaudit.replay.semantic.serving import Lookups, Rules, Served

BLOCK_NODES = 512
MOST_EDGES = 8_000_000
"""Pairs that a graph may hold: 24 bytes each."""
PROBES = 200
"""Texts whose neighbours are counted before a floor is chosen."""


class Graph(NamedTuple):
    """Near nodes of each node, the nearest first."""

    nodes: Nodes
    floor: float
    """No pair at or above it is missing."""
    starts: NDArray[np.int64]
    near: NDArray[np.int32]
    similarities: NDArray[np.float64]

    @property
    def edges(self) -> int:
        """Pairs of different texts."""
        return len(self.near) // 2


def build(lookups: Lookups, floors: Sequence[float]) -> Graph:
    """Return the graph with the least of the floors at which it stays small enough."""
    nodes = Nodes(lookups)
    floor = _affordable(lookups, nodes, sorted(floors))
    searcher = Searcher(NumpyProducts(lookups.vectors, floor), lookups.vectors, nodes.texts)
    parts: list[Part] = []
    for number in np.unique(nodes.partitions).tolist():
        own = np.flatnonzero(nodes.partitions == number)
        for start in range(0, len(own), BLOCK_NODES):
            rows = own[start : start + BLOCK_NODES]
            parts += searcher.pairs(rows, own[: start + len(rows)], np.full(len(rows), floor))
    return _graph(nodes, floor, parts)


def _graph(nodes: Nodes, floor: float, parts: Sequence[Part]) -> Graph:
    """Join pairs into a graph; those inside a block of rows are there from both sides."""
    none = np.empty(0, np.int64)
    rows = np.concatenate([none, *(part[0] for part in parts)])
    others = np.concatenate([none, *(part[1] for part in parts)])
    similarities = np.concatenate([np.empty(0), *(part[2] for part in parts)])
    later = others <= rows  # the later of the two texts looked the earlier one up
    rows, others, similarities = rows[later], others[later], similarities[later]
    back = others < rows  # a text is its own neighbour once
    a = np.concatenate((rows, others[back]))
    b = np.concatenate((others, rows[back]))
    similarities = np.concatenate((similarities, similarities[back]))
    order = np.lexsort((b, -similarities, a))
    starts = np.searchsorted(a[order], np.arange(len(nodes.texts) + 1))
    return Graph(nodes, floor, starts, b[order].astype(np.int32), similarities[order])


def _affordable(lookups: Lookups, nodes: Nodes, floors: Sequence[float]) -> float:
    """Return the least floor of which a sample says that its pairs are few enough."""
    count = len(nodes.texts)
    probes = np.arange(0, count, -(-count // PROBES) if count else 1)
    own = nodes.partitions[probes][:, None] == nodes.partitions
    products = lookups.vectors[nodes.texts[probes]] @ lookups.vectors[nodes.texts].T
    dense = products if isinstance(products, np.ndarray) else products.toarray()
    for floor in floors:
        pairs = np.count_nonzero((dense >= floor) & own) * count / max(1, len(probes)) / 2
        if pairs <= MOST_EDGES:
            return floor
    return floors[-1]


def serve(lookups: Lookups, rules: Rules, graph: Graph) -> Served:
    """Serve every request in turn; the same outcome as `blocks.serve` and `reference.serve`."""
    assert float(lookups.cosines.min(initial=1)) >= graph.floor
    decider = Decider(lookups, rules, graph.nodes, _none_left_out)
    node_of, cosines = graph.nodes.of.tolist(), lookups.cosines.tolist()
    for i, node in enumerate(node_of):
        decider.serve(i, _near(graph, decider, node, cosines[i]))
    return decider.served


def _near(graph: Graph, decider: Decider, node: int, cosine: float) -> Near:
    """Return a node's neighbours that ever had an entry so far."""
    start, end = int(graph.starts[node]), int(graph.starts[node + 1])
    similarities = graph.similarities[start:end]
    near = graph.near[start : start + int(np.searchsorted(-similarities, -cosine, side="right"))]
    entered = np.flatnonzero(decider.entered[near])
    if not len(entered):
        return NONE_NEAR
    return Near(similarities[entered].tolist(), near[entered].tolist(), complete=True)


def _none_left_out(i: int) -> Near:
    raise AssertionError(f"request {i}: a graph holds every neighbour")
