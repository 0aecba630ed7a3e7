"""Tiers below a cache, compiled; `kvaudit.replay.models.tiers` is what it must equal.

Write-through and write-through-selective only: under write-back the first tier must tell what it
evicts, which the compiled caches do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.kernels.growth import grown
from kvaudit.replay.kernels.recency import (
    ANCHOR,
    HELD,
    PEAK,
    Recency,
    append,
    empty_recency,
    refresh,
    take_out,
    with_keys,
)
from kvaudit.replay.models.tiers import OFFERS, Asked, TierState, Visits, WritePolicy

_UNBOUNDED = 1 << 60


class _Seen(NamedTuple):
    """What is kept of each block, by key and one."""

    offers: NDArray[np.int64]
    """Requests that had it."""
    owner: NDArray[np.int64]
    """Number, from 1, of the last request that had it."""


class CompiledLowerTiers:
    """`LowerTiers` for large logs. Grows to 13 bytes a distinct block of the log and tier."""

    def __init__(self, capacities: Sequence[int | None], *, policy: WritePolicy) -> None:
        """Take sizes in blocks."""
        assert policy is not WritePolicy.BACK
        self.policy = policy
        self._capacities = tuple(capacities)
        self._lists = [empty_recency() for _ in capacities]
        self._offers = np.zeros(1, np.int64)
        self._owner = np.zeros(1, np.int64)
        self._served = 0

    @property
    def tiers(self) -> list[TierState]:
        """What is to be told of each tier."""
        return [
            TierState(capacity, int(tier.totals[PEAK]))
            for capacity, tier in zip(self._capacities, self._lists, strict=True)
        ]

    def serve_all(self, asked: Asked, dropped: Sequence[Sequence[int]] = ()) -> Visits:
        """Serve a batch's requests one after the other; what is dropped does not matter here."""
        places = int(asked.keys.max(initial=-1)) + 2
        self._offers = grown(self._offers, places, fill=0)
        self._owner = grown(self._owner, places, fill=0)
        self._lists = [with_keys(tier, places - 1) for tier in self._lists]
        requests = len(asked.hits)
        shape = len(self._lists), requests
        visits = Visits(np.zeros(shape, np.int64), np.zeros(shape, np.int64))
        sizes = np.array([_UNBOUNDED if c is None else c for c in self._capacities], np.int64)
        _serve_all(
            self._lists[0],
            self._lists[-1],
            sizes,
            asked,
            _Seen(self._offers, self._owner),
            self._served,
            self.policy is WritePolicy.SELECTIVE,
            visits,
        )
        self._served += requests
        return visits


@compiled
def _serve_all(
    first: Recency,
    second: Recency,
    sizes: NDArray[np.int64],
    asked: Asked,
    seen: _Seen,
    served: int,
    selective: bool,
    visits: Visits,
) -> None:
    """Serve the requests; where there is one tier only, both lists are the same."""
    for request in range(len(asked.hits)):
        if not asked.admitted[request]:
            continue
        start = asked.starts[request]
        path = asked.keys[start : start + max(asked.usable[request], asked.kept[request])]
        for index in range(asked.hits[request], asked.usable[request]):
            place = path[index] + 1
            if first.held[place]:
                visits.hit_blocks[0, request] += 1
            elif len(sizes) > 1 and second.held[place]:
                visits.hit_blocks[1, request] += 1
            else:
                break
        path = path[: asked.kept[request]]
        for key in path:
            seen.offers[key + 1] += 1
            seen.owner[key + 1] = served + request + 1
        visits.stored_blocks[0, request] = _write(first, sizes[0], path, seen, selective)
        if len(sizes) > 1:
            visits.stored_blocks[1, request] = _write(second, sizes[1], path, seen, selective)


@compiled
def _write(
    tier: Recency, capacity: int, path: NDArray[np.int32], seen: _Seen, selective: bool
) -> int:
    """Touch what is held of a path, its last block first, and store the rest that is due."""
    totals, held, older, newer = tier
    refresh(tier, path)
    stored = 0
    for key in path:
        place = key + 1
        if held[place] or (selective and seen.offers[place] < OFFERS):
            continue
        if totals[HELD] == capacity:
            oldest = newer[ANCHOR]
            while oldest != ANCHOR and seen.owner[oldest] == seen.owner[place]:
                oldest = newer[oldest]
            if oldest == ANCHOR:
                break
            take_out(older, newer, oldest)
            held[oldest] = False
            totals[HELD] -= 1
        held[place] = True
        append(older, newer, place)
        totals[HELD] += 1
        stored += 1
    totals[PEAK] = max(totals[PEAK], totals[HELD])
    return stored
