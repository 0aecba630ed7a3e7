"""From runs of stack distances to the hits of any capacity, exact in integers.

A run of n blocks at the distances d, d+1, ... adds one block for each step of the
capacity from d on, until all are in. So hits over capacity is a sum of ramps: straight between
the ends of runs, and known everywhere once it is known there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.models.stack import Runs


class Weights(NamedTuple):
    """What the blocks of each request weigh, in tokens; one entry a request."""

    block_tokens: NDArray[np.int64]
    most: NDArray[np.int64]
    """Tokens that may be hits: a partial last block weighs what is left of them."""


class Ramps(NamedTuple):
    """Blocks that become hits one after the other as the capacity grows; one entry a ramp."""

    request: NDArray[np.int64]
    first: NDArray[np.int64]
    """The least capacity, in blocks, that hits the first of them."""
    blocks: NDArray[np.int64]
    tokens: NDArray[np.int64]
    """Tokens of each of them."""

    def tokens_by(
        self, capacity_blocks: int | None, keys: NDArray[np.int64], size: int
    ) -> NDArray[np.int64]:
        """Return the hit tokens at one capacity, summed by ``keys[request]``."""
        hits = self.blocks
        if capacity_blocks is not None:
            hits = np.clip(capacity_blocks - self.first + 1, 0, self.blocks)
        # Sums of whole numbers below 2**53 are exact in the floats that bincount adds.
        weighed = np.bincount(keys[self.request], weights=hits * self.tokens, minlength=size)
        return weighed.astype(np.int64)


def ramps_of(
    parts: Sequence[Runs], per_request: int, weights: Weights, first_request: int
) -> Ramps:
    """Return the ramps of the requests from ``first_request`` on.

    A run whose last block is partial becomes two ramps, one for that block.
    """
    row, start, distance, count = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("row", "start", "distance", "blocks")
    )
    counted = slice(int(np.searchsorted(row, first_request * per_request)), None)
    start, distance, count = start[counted], distance[counted], count[counted]
    request = row[counted] // per_request
    block_tokens, most = weights.block_tokens[request], weights.most[request]
    whole = most // block_tokens
    full = np.clip(whole - start, 0, count)
    rest = most - whole * block_tokens
    if (full == count).all():
        return Ramps(request, distance, count, block_tokens)
    partial = (full < count) & (start + full == whole) & (rest > 0)
    ends = Ramps(
        request[partial],
        (distance + full)[partial],
        np.ones(int(partial.sum()), np.int64),
        rest[partial],
    )
    # Blocks behind the last token, which some logs have, are hits that weigh nothing.
    kept = full > 0
    starts = Ramps(request[kept], distance[kept], full[kept], block_tokens[kept])
    return Ramps(*(np.concatenate(pair) for pair in zip(starts, ends, strict=True)))


def _added_up(
    places: NDArray[np.int64], changes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places, ascending and each once, and the sum of all changes up to each.

    Where nothing is added up the curve goes straight on, so it does not matter whether such a
    place is among them.
    """
    # A place and its number in one integer: sorting those takes a third of finding an order.
    bits = len(places).bit_length()
    packed = np.sort(places << bits | np.arange(len(places)))
    order, places = packed & ((1 << bits) - 1), packed >> bits
    last = np.append(np.flatnonzero(places[1:] != places[:-1]), len(places) - 1)
    return places[last], np.cumsum(changes[order])[last]


class CapacityCurve:
    """Hits over capacity, in tokens or in blocks; never falls.

    ``corners`` are capacities, ascending from 0, between which the curve is straight; the last
    one loses nothing.
    """

    def __init__(
        self, first: NDArray[np.int64], count: NDArray[np.int64], weight: NDArray[np.int64]
    ) -> None:
        """Add up ramps."""
        places = np.concatenate([[0], first - 1, first + count - 1])
        self.corners, self._slopes = _added_up(places, np.concatenate([[0], weight, -weight]))
        steps = np.diff(self.corners) * self._slopes[:-1]
        self.hits: NDArray[np.int64] = np.concatenate([[0], np.cumsum(steps)])

    @property
    def total(self) -> int:
        """Hits without a bound."""
        return int(self.hits[-1])

    @property
    def full_capacity(self) -> int:
        """The least capacity that loses nothing, in blocks."""
        return int(self.corners[-1])

    def at(self, capacity_blocks: int | None) -> int:
        """Return the hits of one capacity."""
        if capacity_blocks is None:
            return self.total
        corner = int(np.searchsorted(self.corners, capacity_blocks, side="right")) - 1
        beyond = capacity_blocks - int(self.corners[corner])
        return int(self.hits[corner]) + beyond * int(self._slopes[corner])

    def least_capacity(self, hits: int) -> int:
        """Return the least capacity with so many hits; they must not be more than all."""
        corner = int(np.searchsorted(self.hits, hits, side="left"))
        if corner == 0:
            return 0
        missing = hits - int(self.hits[corner - 1])
        return int(self.corners[corner - 1]) + -(-missing // int(self._slopes[corner - 1]))

    def knee(self) -> int:
        """Return the capacity at which the curve stands highest above its chord.

        The chord joins no cache with the least one that loses nothing, both axes scaled to 1
        (V. Satopaa et al., Finding a "Kneedle" in a haystack, ICDCS workshops 2011, without
        smoothing): from here on a block brings less than a block does on average.
        """
        if not self.total:
            return 0
        height = self.hits / self.total - self.corners / self.full_capacity
        return int(self.corners[int(np.argmax(height))])
