"""Which texts are near which: every pair at or above a threshold, found without approximation.

Products of single precision, on the CPU or on a device, only choose pairs: a little below the
threshold, so that no rounding loses one. What is chosen is computed again in double precision,
so that a similarity, and with it every decision, is the same however the products were made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.semantic.encoder import Vectors
from kvaudit.replay.semantic.serving import similarities_of
from kvaudit.replay.semantic.sieve import Sieve

CHUNK_COLUMNS = 8192
SLACK = 1e-5
"""What single precision may take from a product of unit vectors."""
MOST_NEAR = 64
"""Neighbours that are kept of a text, and all that are as near as the last of them."""
FEW_PAIRS = 0.004
"""Share of pairs up to which computing them one by one is cheaper than all of them at once."""


class Pairs(NamedTuple):
    """Some of the pairs of rows and columns, by their places; about how near, where known."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    about: NDArray[np.float32] | None


Part = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Some near pairs: rows, nodes, and how near they are."""


class Products(Protocol):
    """Finds pairs that may be near enough."""

    def above(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64], floors: NDArray[np.float64]
    ) -> Pairs:
        """Return all pairs at or above the row's floor, and maybe some that are not.

        ``rows`` and ``columns`` are numbers of texts.
        """


class Near(NamedTuple):
    """Neighbours of one text, the nearest first."""

    similarities: list[float]
    nodes: list[int]
    complete: bool
    """Whether these are all; else those that are left out are farther than any of them."""


NONE_NEAR = Near([], [], complete=True)


class NumpyProducts:
    """Products on the CPU, of the whole vectors or, where that rules out most pairs, of a part."""

    def __init__(self, vectors: Vectors, floor: float) -> None:
        """Take the vectors of all texts, and the least threshold."""
        self._vectors = vectors
        self._sieve = Sieve.of(vectors, floor - SLACK) if isinstance(vectors, np.ndarray) else None

    def above(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64], floors: NDArray[np.float64]
    ) -> Pairs:
        """Return all pairs at or above the row's floor, and maybe some that are not."""
        least = (floors - SLACK).astype(np.float32)[:, None]
        if self._sieve is not None:
            bounds = self._sieve.bounds(rows, columns)
            found = np.flatnonzero(bounds >= least)
            if len(found) <= FEW_PAIRS * bounds.size:
                return Pairs(*divmod(found, len(columns)), about=None)
        products = self._vectors[rows] @ self._vectors[columns].T
        if not isinstance(products, np.ndarray):
            products = products.toarray()
        found = np.flatnonzero(products >= least)
        return Pairs(*divmod(found, len(columns)), about=products.ravel()[found])


class TorchProducts:
    """Products on a device of torch, in full single precision."""

    def __init__(self, vectors: NDArray[np.float32], torch: Any, device: str) -> None:
        """Move the vectors of all texts there."""
        self._torch = torch
        self._vectors = self._torch.from_numpy(vectors).to(device)

    def above(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64], floors: NDArray[np.float64]
    ) -> Pairs:
        """Return all pairs at or above the row's floor, and maybe some that are not."""
        to = self._torch.from_numpy
        device = self._vectors.device
        products = self._vectors[to(rows).to(device)] @ self._vectors[to(columns).to(device)].T
        least = to((floors - SLACK).astype(np.float32)).to(device)[:, None]
        at = (products >= least).nonzero(as_tuple=True)
        return Pairs(*(part.cpu().numpy() for part in (*at, products[at])))


class Searcher:
    """Finds the near ones of some nodes among others; a node stands for a text under a key."""

    def __init__(self, products: Products, vectors: Vectors, texts: NDArray[np.int64]) -> None:
        """Take the vectors of all texts, and the text of each node."""
        self._products, self._vectors, self._texts = products, vectors, texts

    def near(
        self,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64],
        floors: NDArray[np.float64],
        *,
        most: int = MOST_NEAR,
    ) -> list[Near]:
        """Return the ``most`` nearest of each row at or above its floor."""
        cut = np.zeros(len(rows), np.bool_)
        parts = list(self._chunks(rows, columns, floors, most, cut))
        if not parts:
            return [NONE_NEAR] * len(rows)
        places, nodes, similarities = map(np.concatenate, zip(*parts, strict=True))
        order = np.lexsort((nodes, -similarities, places))
        places, nodes, similarities = places[order], nodes[order], similarities[order]
        ends = np.searchsorted(places, np.arange(len(rows) + 1)).tolist()
        found = []
        for row in range(len(rows)):
            start, end = ends[row], ends[row + 1]
            complete = not cut[row]
            if end - start > most:
                last = start + most
                while last < end and similarities[last] == similarities[last - 1]:
                    last += 1
                complete, end = complete and last == end, last
            own = slice(start, end)
            found.append(Near(similarities[own].tolist(), nodes[own].tolist(), complete))
        return found

    def pairs(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64], floors: NDArray[np.float64]
    ) -> list[Part]:
        """Return parts of (row's node, node, similarity) of all pairs at or above the floors."""
        found = self._chunks(rows, columns, floors, len(columns), np.zeros(len(rows), np.bool_))
        return [(rows[places], nodes, similarities) for places, nodes, similarities in found]

    def _chunks(
        self,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64],
        floors: NDArray[np.float64],
        most: int,
        cut: NDArray[np.bool_],
    ) -> Iterator[Part]:
        """Yield (place of the row, node, similarity) of near pairs; marks rows that were cut."""
        own = self._texts[rows]
        for start in range(0, len(columns), CHUNK_COLUMNS):
            part = columns[start : start + CHUNK_COLUMNS]
            texts = self._texts[part]
            pairs = self._products.above(own, texts, floors)
            if pairs.about is not None:
                pairs = _nearest(pairs, most, cut)
            similarities = similarities_of(self._vectors, own[pairs.rows], texts[pairs.columns])
            enough = similarities >= floors[pairs.rows]
            yield pairs.rows[enough], part[pairs.columns[enough]], similarities[enough]


def _nearest(pairs: Pairs, most: int, cut: NDArray[np.bool_]) -> Pairs:
    """Keep what can be among the ``most`` nearest of its row; marks the rows that lose some."""
    rows, columns, about = pairs
    assert about is not None
    ends = np.searchsorted(rows, np.arange(len(cut) + 1))
    crowded = np.flatnonzero(np.diff(ends) > most)
    if not len(crowded):
        return pairs
    keep = np.ones(len(rows), np.bool_)
    for row in crowded.tolist():
        own = slice(ends[row], ends[row + 1])
        last = np.partition(about[own], -most)[-most]
        keep[own] = about[own] >= last - 2 * SLACK
        cut[row] |= not keep[own].all()
    return Pairs(rows[keep], columns[keep], about[keep])
