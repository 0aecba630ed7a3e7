"""The bounded ideal cache, compiled; `kvaudit.replay.models.ideal` is what it must equal."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.kernels.growth import grown
from kvaudit.replay.models.ideal import NEVER, ROOT, IdealPolicy, ideal_outcome
from kvaudit.replay.outcomes import CacheOutcome, all_served, check_sizes
from kvaudit.replay.paths import Paths, request_paths


class _Held(NamedTuple):
    """The blocks of an ``lru`` or ``fifo`` cache."""

    counts: NDArray[np.int64]
    """Blocks held now, and at most so far."""
    held: NDArray[np.bool_]
    """By key."""
    older: NDArray[np.int32]
    """By key + 1: a ring through 0, in which newer[0] is the next to go."""
    newer: NDArray[np.int32]


class CompiledIdealCache:
    """`IdealCache` for large logs. Grows to 9 bytes a distinct block."""

    def __init__(self, *, capacity_blocks: int, policy: IdealPolicy) -> None:
        """Take a capacity in the interner's blocks; `CompiledOptimalCache` does ``optimal``."""
        check_sizes(capacity_blocks)
        assert policy is not IdealPolicy.OPTIMAL
        self.capacity_blocks = capacity_blocks
        self.policy = policy
        self._state = _Held(
            counts=np.zeros(2, np.int64),
            held=np.zeros(0, np.bool_),
            older=np.zeros(1, np.int32),
            newer=np.zeros(1, np.int32),
        )

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other."""
        return self.replay_some(prompts, blocks, all_served(prompts))

    def replay_some(
        self, prompts: PromptBatch, blocks: BlockBatch, served: NDArray[np.bool_]
    ) -> CacheOutcome:
        """Serve the marked requests one after the other, and only look at the others."""
        paths = request_paths(prompts, blocks)
        keys = int(paths.keys.max(initial=-1)) + 1
        self._state = self._state._replace(
            held=grown(self._state.held, keys, fill=0),
            older=grown(self._state.older, keys + 1),
            newer=grown(self._state.newer, keys + 1),
        )
        found = np.zeros((len(prompts.prompt_units), 3), np.int64)
        fifo = self.policy is IdealPolicy.FIFO
        _serve(self._state, paths, self.capacity_blocks, fifo, served, found)
        return ideal_outcome(prompts, blocks, found, int(self._state.counts[1]))


class CompiledOptimalCache:
    """`OptimalCache` for large logs.

    Holds 8 bytes a block of every request and 13 bytes a distinct block.
    """

    def __init__(self, *, capacity_blocks: int) -> None:
        """Take a capacity in the interner's blocks."""
        check_sizes(capacity_blocks)
        self.capacity_blocks = capacity_blocks

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve all requests of the log, one after the other."""
        paths = request_paths(prompts, blocks)
        served = np.zeros((len(prompts.prompt_units), 3), np.int64)
        distinct = int(paths.keys.max(initial=-1)) + 1
        _serve_optimal(paths, distinct, self.capacity_blocks, served)
        return ideal_outcome(prompts, blocks, served, int(served[:, 2].max(initial=0)))


@compiled
def _prefix_held(held: NDArray[np.bool_], path: NDArray[np.int32]) -> int:
    hits = 0
    while hits < len(path) and held[path[hits]]:
        hits += 1
    return hits


@compiled
def _unlink(state: _Held, key: int) -> None:
    place = key + 1
    state.newer[state.older[place]] = state.newer[place]
    state.older[state.newer[place]] = state.older[place]
    state.held[key] = False
    state.counts[0] -= 1


@compiled
def _append(state: _Held, key: int) -> None:
    place, newest = key + 1, state.older[0]
    state.newer[newest] = place
    state.older[place] = newest
    state.newer[place] = 0
    state.older[0] = place
    state.held[key] = True
    state.counts[0] += 1


@compiled
def _admit_lru(state: _Held, path: NDArray[np.int32], capacity: int) -> int:
    fitting = path[:capacity]
    hits = _prefix_held(state.held, fitting)
    for n in range(hits):
        _unlink(state, fitting[n])
    evicted = max(0, state.counts[0] + len(fitting) - capacity)
    for _ in range(evicted):
        _unlink(state, state.newer[0] - 1)
    for n in range(len(fitting) - 1, -1, -1):
        _append(state, fitting[n])
    state.counts[1] = max(state.counts[1], state.counts[0])
    if hits < len(fitting) < len(path):
        _unlink(state, fitting[-1])
        evicted += 1
    return int(evicted)


@compiled
def _admit_fifo(state: _Held, path: NDArray[np.int32], capacity: int) -> int:
    evicted = 0
    for key in path:
        if state.held[key]:
            continue
        if state.counts[0] == capacity:
            _unlink(state, state.newer[0] - 1)
            evicted += 1
        _append(state, key)
    state.counts[1] = max(state.counts[1], state.counts[0])
    return evicted


@compiled
def _serve(
    state: _Held,
    paths: Paths,
    capacity: int,
    fifo: bool,
    served: NDArray[np.bool_],
    found: NDArray[np.int64],
) -> None:
    """Write hits, evicted and held blocks of each request to ``found``."""
    for row in range(len(paths.offsets) - 1):
        path = paths.keys[paths.offsets[row] : paths.offsets[row + 1]]
        request = row // 2
        if row % 2 == 0:
            found[request, 0] = _prefix_held(state.held, path)
        if served[request] and fifo:
            found[request, 1] += _admit_fifo(state, path, capacity)
        elif served[request]:
            found[request, 1] += _admit_lru(state, path, capacity)
        found[request, 2] = state.counts[0]


@compiled
def _next_uses(paths: Paths, keys: int) -> NDArray[np.int32]:
    """Return, for each entry of the paths, the next request whose prompt holds its block."""
    following = np.empty(len(paths.keys), np.int32)
    next_use = np.full(keys, NEVER, np.int32)
    for row in range(len(paths.offsets) - 2, -1, -1):
        for at in range(paths.offsets[row], paths.offsets[row + 1]):
            following[at] = next_use[paths.keys[at]]
            if row % 2 == 0:
                next_use[paths.keys[at]] = row // 2
    return following


@compiled
def _serve_optimal(paths: Paths, keys: int, capacity: int, served: NDArray[np.int64]) -> None:
    """Write hits, evicted and held blocks of each request to ``served``."""
    following = _next_uses(paths, keys)
    held = np.zeros(keys, np.bool_)
    next_use = np.full(keys, NEVER, np.int32)
    before = np.full(keys, ROOT, np.int32)
    continued = np.zeros(keys, np.int32)
    # A heap of (furthest use first, key) in one number each; entries may be out of date.
    leaves = [np.int64(0) for _ in range(0)]
    count = 0
    for row in range(len(paths.offsets) - 1):
        start = paths.offsets[row]
        path = paths.keys[start : paths.offsets[row + 1]]
        request = row // 2
        if row % 2 == 0:
            served[request, 0] = _prefix_held(held, path)
        for n in range(len(path)):
            next_use[path[n]] = following[start + n]
        parent = ROOT
        for n in range(len(path)):
            key = path[n]
            if not held[key]:
                room = count < capacity
                while not room and len(leaves) > 0:
                    use, leaf = NEVER - (leaves[0] >> 32), leaves[0] & 0xFFFFFFFF
                    current = held[leaf] and continued[leaf] == 0 and use == next_use[leaf]
                    if current and use <= following[start + n]:
                        break
                    heapq.heappop(leaves)
                    if current:
                        held[leaf] = False
                        count -= 1
                        served[request, 1] += 1
                        room = True
                        above = before[leaf]
                        if above != ROOT:
                            continued[above] -= 1
                            if continued[above] == 0:
                                heapq.heappush(leaves, _entry(next_use[above], above))
                if not room:
                    break
                held[key] = True
                count += 1
                before[key] = parent
                if parent != ROOT:
                    continued[parent] += 1
            parent = key
        if parent != ROOT and continued[parent] == 0:
            heapq.heappush(leaves, _entry(next_use[parent], parent))
        served[request, 2] = count


@compiled
def _entry(use: int, key: int) -> int:
    return int(((NEVER - np.int64(use)) << 32) | np.int64(key))
