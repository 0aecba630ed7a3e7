"""What a semantic cache is asked and what it answers; the rules are in `reference`.

Similarities are computed in double precision and compared after rounding to six decimals: the last
bits of a product depend on how it was summed up, and a decision must not. A text is as near to
itself as can be, so what is one but for the error of single precision counts as one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.semantic.encoder import Vectors

DECIMALS = 6
NOBODY = -1
_PAIRS = 4096
"""Computed at a time."""

ONE = 1 - 2e-6
"""From here on a similarity is one: unit vectors of single precision err by less."""

Guard = Callable[[int, int], bool]
"""Whether the answer of an earlier request may be given to a later one: (donor, request)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookups:
    """Requests in the order they are looked up; arrays of one length, one entry a request."""

    partitions: NDArray[np.int32]
    """Dense number of the hard key; entries are served within one only."""
    texts: NDArray[np.int64]
    """Row of each request's text in ``vectors``; equal texts have equal rows."""
    folded: NDArray[np.int64]
    """Dense number of each text as an exact tier compares it."""
    vectors: Vectors
    arrived_s: NDArray[np.float64]
    """Time of the lookup; never falls."""
    available_s: NDArray[np.float64]
    """From when on its answer can be served."""
    cosines: NDArray[np.float64]
    """Threshold of each, as a cosine."""
    storable: NDArray[np.bool_]
    """Whether its answer may become an entry: a cancelled one is incomplete."""
    ttls_s: NDArray[np.float64] | None = None
    """How long the answer of each lives; None where the rules say so for all."""

    def lives_s(self, rules: Rules) -> NDArray[np.float64]:
        """Return how long the answer of each lives as an entry; infinite where it stays."""
        if self.ttls_s is not None:
            return self.ttls_s
        return np.full(len(self.arrived_s), np.inf if rules.ttl_s is None else rules.ttl_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How the cache behaves."""

    always: bool = False
    """Whether hits become entries too."""
    exact_tier: bool = False
    ttl_s: float | None = None
    sliding: bool = False
    capacity: int | None = None
    eviction: str = "lru"
    top_k: int = 4
    """Neighbours that ``guard`` may refuse before the lookup misses."""
    guard: Guard | None = None
    sightings: int = 1
    """Which miss of a text becomes an entry."""


class Served(NamedTuple):
    """What became of each request; arrays of one entry a request."""

    donors: NDArray[np.int64]
    """The request whose answer was served; `NOBODY` for a miss."""
    similarities: NDArray[np.float64]
    """To the donor; NaN for a miss."""
    exact: NDArray[np.bool_]
    """Whether the exact tier served it."""
    vetoed: NDArray[np.bool_]
    """Whether the guard refused every neighbour that was near enough."""


def similarities_of(
    vectors: Vectors, a: NDArray[np.int64], b: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return how near the texts of each pair are, in double precision and settled."""
    found = np.empty(len(a))
    for start in range(0, len(a), _PAIRS):
        part = slice(start, start + _PAIRS)
        first, second = vectors[a[part]], vectors[b[part]]
        if isinstance(first, np.ndarray):
            found[part] = np.einsum("ij,ij->i", first, second, dtype=np.float64)
        else:
            found[part] = np.asarray(first.multiply(second).sum(axis=1, dtype=np.float64)).ravel()
    return settled(found)


def settled(products: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return products of unit vectors as similarities that can be compared."""
    similarities: NDArray[np.float64] = products.round(DECIMALS)
    similarities[similarities >= ONE] = 1
    return similarities
