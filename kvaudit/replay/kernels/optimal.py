"""Hits of the cache that knows the future, request by request instead of block by block.

What a request uses of a later one's path is a prefix of it, so the blocks of a path are used
again in an order: those behind are never used sooner than those before. And what is held of a
path is a prefix, too, since only leaves are dropped. So the blocks whose next use is one and the
same request stand in its path one behind the other, the held ones first: a number for each request
to come says which of them are held, and dropping the leaf that is used last is taking one from
the number of the last request that has any. Blocks that are never used again are
not counted at all: they are dropped before all others, and admitted only where there is room.

`kvaudit.replay.models.ideal.OptimalCache` is what this must equal in hits.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.models.ideal import NEVER
from kvaudit.replay.outcomes import check_sizes


class _Futures(NamedTuple):
    """The blocks of each row that are used again, first to last, as runs of one next use."""

    ends: NDArray[np.int64]
    """Where the runs of each row end; the first row's begin at 0."""
    use: NDArray[np.int32]
    """The next request whose prompt holds the blocks of the run."""
    blocks: NDArray[np.int32]


class KnownFuture:
    """The requests of a log, and when each block is used again. Holds 8 bytes a run."""

    def __init__(
        self, keys: NDArray[np.int32], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> None:
        """Take two rows a request, as `OptimalCache.serve` does."""
        most = int((ends - starts).sum())
        runs = _Futures(
            np.empty(len(starts), np.int64), np.empty(most, np.int32), np.empty(most, np.int32)
        )
        distinct = int(keys.max(initial=-1)) + 1
        first = _futures(keys, starts, ends, np.full(distinct, NEVER, np.int32), runs)
        # Room was made for the worst case, and used from its end on.
        self._runs = _Futures(
            runs.ends - first, runs.use[first:].copy(), runs.blocks[first:].copy()
        )

    def hits(self, capacity_blocks: int) -> NDArray[np.int64]:
        """Return the hit blocks of each request in a cache of this capacity."""
        check_sizes(capacity_blocks)
        hits = np.empty(len(self._runs.ends) // 2, np.int64)
        _serve(self._runs, capacity_blocks, np.zeros(len(hits), np.int64), hits)
        return hits


@compiled
def _futures(
    keys: NDArray[np.int32],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    next_use: NDArray[np.int32],
    runs: _Futures,
) -> int:
    """Write the runs of each row, from the last one on; return where they begin."""
    run_ends, use, blocks = runs
    first = np.int64(len(use))
    for row in range(len(starts) - 1, -1, -1):
        run_ends[row] = first
        request, is_prompt = np.int32(row // 2), row % 2 == 0
        path = keys[starts[row] : ends[row]]
        following = np.int32(NEVER)
        for at in range(len(path) - 1, -1, -1):
            key = np.uint32(path[at])
            if next_use[key] != following:
                following = next_use[key]
                first -= 1
                use[first], blocks[first] = following, 0
            if following != NEVER:
                blocks[first] += 1
            if is_prompt:
                next_use[key] = request
    return int(first)


@compiled
def _serve(runs: _Futures, capacity: int, held: NDArray[np.int64], hits: NDArray[np.int64]) -> None:
    """Write the hits of each request; ``held`` is 0 for each."""
    run_ends, use, blocks = runs
    # A heap of the requests to come of which blocks are held, the last one first.
    coming = [np.int64(0) for _ in range(0)]
    room = np.int64(capacity)
    run = 0
    for row in range(len(run_ends)):
        is_prompt = row % 2 == 0
        request, hit = row // 2, np.int64(0)
        if is_prompt:
            hits[request] = hit = held[request]
            held[request] = 0
            room += hit
        while run < run_ends[row]:
            later, missing = np.int64(use[run]), np.int64(blocks[run])
            before = held[later]
            if is_prompt:  # what was hit is held for a later use now
                kept = min(hit, missing)
                hit -= kept
                room -= kept
                held[later] += kept
            else:
                kept = min(before, missing)
            missing -= kept
            while missing > 0:
                if room == 0:
                    while len(coming) > 0 and held[-coming[0]] == 0:
                        heapq.heappop(coming)
                    if len(coming) == 0 or -coming[0] <= later:
                        break
                    room = min(held[-coming[0]], missing)
                    held[-coming[0]] -= room
                taken = min(room, missing)
                room -= taken
                missing -= taken
                held[later] += taken
            if before == 0 and held[later] > 0:
                heapq.heappush(coming, -later)
            if missing > 0:  # and nothing that is behind on the path is used sooner
                break
            run += 1
        run = run_ends[row]
