"""The same cache as `reference`, a block of requests at a time: the products are matrix products.

Nothing is approximated: the rows of a block against what each partition held before it, and the
block against itself; the decisions are then taken one by one, in order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.extras import load
from kvaudit.replay.semantic.encoder import Vectors
from kvaudit.replay.semantic.lives import Lives
from kvaudit.replay.semantic.reference import empty
from kvaudit.replay.semantic.serving import Lookups, Rules, Served, settled

BLOCK_REQUESTS = 512
CHUNK_ENTRIES = 8192
# What rounding may add to a product, so that nothing is lost before it is rounded.
SLACK = 4e-6


class Chunk(NamedTuple):
    """Some entries of a partition: their vectors and the requests they come from."""

    vectors: Vectors
    requests: NDArray[np.int64]


class Near(NamedTuple):
    """Neighbours of one request, in no order."""

    requests: NDArray[np.int64]
    similarities: NDArray[np.float64]


class Partition:
    """The entries of one hard key in chunks, oldest first; dead chunks are dropped."""

    def __init__(self) -> None:
        """Start empty."""
        self._chunks: list[Chunk] = []

    def near(self, rows: Vectors, cosines: NDArray[np.float64]) -> list[list[Near]]:
        """Return each row's neighbours at or above its threshold, chunk by chunk."""
        found: list[list[Near]] = [[] for _ in range(len(cosines))]
        for chunk in self._chunks:
            products = product(rows, chunk.vectors)
            for row, columns, similarities in above(products, cosines):
                found[row].append(Near(chunk.requests[columns], similarities))
        return found

    def append(self, vectors: Vectors, requests: NDArray[np.int64]) -> None:
        """Add entries behind the others."""
        last = self._chunks[-1] if self._chunks else None
        if last is not None and len(last.requests) + len(requests) <= CHUNK_ENTRIES:
            self._chunks[-1] = Chunk(
                _stacked(last.vectors, vectors), np.concatenate((last.requests, requests))
            )
        else:
            self._chunks.append(Chunk(vectors, requests))

    def drop_dead(self, lives: Lives) -> None:
        """Forget chunks of which no entry can be served again."""
        self._chunks = [c for c in self._chunks if not lives.all_dead(c.requests)]


def serve(lookups: Lookups, rules: Rules, block_requests: int = BLOCK_REQUESTS) -> Served:
    """Serve every request in turn; the same outcome as `reference.serve`."""
    count = len(lookups.arrived_s)
    served, lives = empty(count), Lives(lookups, rules)
    partitions: dict[int, Partition] = {}
    for start in range(0, count, block_requests):
        block = np.arange(start, min(start + block_requests, count))
        near = _before(lookups, partitions, block)
        inside = _inside(lookups, block)
        admitted: list[int] = []
        for place, i in enumerate(block.tolist()):
            parts = near[place]
            own = inside[place]
            if own is not None and admitted:
                parts = [*parts, own]
            if _serve_one(i, parts, lookups, rules, lives, served):
                lives.admit(i)
                admitted.append(i)
        _append(lookups, partitions, np.array(admitted, np.int64), lives)
    return served


def _serve_one(
    i: int,
    parts: list[Near],
    lookups: Lookups,
    rules: Rules,
    lives: Lives,
    served: Served,
) -> bool:
    """Serve one request; return whether its answer becomes an entry."""
    now_s = float(lookups.arrived_s[i])
    lives.settle(now_s)
    if rules.exact_tier and (twin := lives.twin(i, now_s)) is not None:
        served.donors[i], served.similarities[i], served.exact[i] = twin, 1.0, True
        lives.hit(twin, now_s)
        return False
    hit = False
    if parts:
        requests = np.concatenate([p.requests for p in parts])
        similarities = np.concatenate([p.similarities for p in parts])
        living = lives.are_live(requests, now_s)
        requests, similarities = requests[living], similarities[living]
        for donor, similarity in nearest(requests, similarities, rules.top_k):
            if rules.guard is None or rules.guard(donor, i):
                served.donors[i], served.similarities[i], hit = donor, similarity, True
                lives.hit(donor, now_s)
                break
        served.vetoed[i] = bool(len(requests)) and not hit
    return bool(lookups.storable[i]) and (not hit or rules.always)


def nearest(
    requests: NDArray[np.int64], similarities: NDArray[np.float64], count: int
) -> list[tuple[int, float]]:
    """Return the nearest neighbours, the nearest first, of equals the oldest."""
    if not len(requests):
        return []
    order = np.lexsort((requests, -similarities))[:count]
    return list(zip(requests[order].tolist(), similarities[order].tolist(), strict=True))


def _before(
    lookups: Lookups, partitions: dict[int, Partition], block: NDArray[np.int64]
) -> list[list[Near]]:
    """Return the neighbours of a block's requests among the entries from before it."""
    near: list[list[Near]] = [[] for _ in range(len(block))]
    for number, places in _by_partition(lookups, block):
        if number in partitions:
            requests = block[places]
            rows = lookups.vectors[lookups.texts[requests]]
            found = partitions[number].near(rows, lookups.cosines[requests])
            for place, parts in zip(places.tolist(), found, strict=True):
                near[place] = parts
    return near


def _inside(lookups: Lookups, block: NDArray[np.int64]) -> list[Near | None]:
    """Return the neighbours of a block's requests among the block's earlier ones."""
    inside: list[Near | None] = [None] * len(block)
    for _, places in _by_partition(lookups, block):
        requests = block[places]
        rows = lookups.vectors[lookups.texts[requests]]
        products = np.tril(product(rows, rows), -1)
        # Zeros above the diagonal would pass a threshold of zero or less.
        products[np.triu_indices(len(places))] = -np.inf
        for row, columns, similarities in above(products, lookups.cosines[requests]):
            inside[int(places[row])] = Near(requests[columns], similarities)
    return inside


def _append(
    lookups: Lookups,
    partitions: dict[int, Partition],
    admitted: NDArray[np.int64],
    lives: Lives,
) -> None:
    for number, places in _by_partition(lookups, admitted):
        requests = admitted[places]
        partition = partitions.setdefault(number, Partition())
        partition.append(lookups.vectors[lookups.texts[requests]], requests)
    if lives.mortal:
        for partition in partitions.values():
            partition.drop_dead(lives)


def _by_partition(
    lookups: Lookups, requests: NDArray[np.int64]
) -> list[tuple[int, NDArray[np.int64]]]:
    """Return each partition among the requests with their places, in order of its number."""
    numbers = lookups.partitions[requests]
    return [(int(n), np.flatnonzero(numbers == n)) for n in np.unique(numbers)]


def product(rows: Vectors, columns: Vectors) -> NDArray[np.float32]:
    """Return the inner products, shape (rows, columns)."""
    found = rows @ columns.T
    dense: NDArray[np.float32] = found if isinstance(found, np.ndarray) else found.toarray()
    return dense


def above(
    products: NDArray[np.float32], cosines: NDArray[np.float64]
) -> list[tuple[int, NDArray[np.int64], NDArray[np.float64]]]:
    """Return (row, columns, similarities) of each row that has any at or above its threshold."""
    found = []
    passes = products >= (cosines - SLACK)[:, None].astype(np.float32)
    for row in np.flatnonzero(passes.any(axis=1)).tolist():
        columns = np.flatnonzero(passes[row])
        similarities = settled(products[row, columns])
        enough = similarities >= cosines[row]
        if enough.any():
            found.append((row, columns[enough], similarities[enough]))
    return found


def _stacked(above: Vectors, below: Vectors) -> Vectors:
    if isinstance(above, np.ndarray):
        return np.concatenate((above, below))
    return load("scipy.sparse", extra="semantic").vstack((above, below), format="csr")
