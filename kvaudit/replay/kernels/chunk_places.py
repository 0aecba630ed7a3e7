"""The places LMCache keeps chunks in, compiled.

`kvaudit.replay.models.chunk_places` is what they must equal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import inner
from kvaudit.replay.kernels.eviction_queue import (
    NOBODY,
    Queue,
    empty_queue,
    offer,
    take,
    with_room,
)
from kvaudit.replay.kernels.growth import grown

HELD, CLOCK, PEAK, USED = range(4)
"""Places in ``totals``: chunks held, visits, the most chunks held, tokens held."""
_LRU, _LFU, _FIFO, _MRU = range(4)
_POLICIES = {"lru": _LRU, "lfu": _LFU, "fifo": _FIFO, "mru": _MRU}


class Place(NamedTuple):
    """State of a place, by key unless stated."""

    policy: NDArray[np.int64]
    """Shape (1,)."""
    totals: NDArray[np.int64]
    uses: NDArray[np.int64]
    """0 for a chunk that is not held."""
    touched: NDArray[np.int64]
    tokens: NDArray[np.int64]
    passed: NDArray[np.int32]
    """Room for the chunks that may not go just now."""
    queue: Queue


def empty_place(policy: str) -> Place:
    """Return a place that holds nothing."""
    none = np.empty(0, np.int64)
    return Place(
        policy=np.array([_POLICIES[policy]], np.int64),
        totals=np.zeros(4, np.int64),
        uses=none,
        touched=none.copy(),
        tokens=none.copy(),
        passed=np.empty(0, np.int32),
        queue=empty_queue(),
    )


def with_keys(place: Place, keys: int, chunks: int) -> Place:
    """Return the place with room for keys below ``keys``, and for ``chunks`` asked for."""
    return place._replace(
        uses=grown(place.uses, keys, fill=0),
        touched=grown(place.touched, keys),
        tokens=grown(place.tokens, keys),
        passed=grown(place.passed, keys),
        # A chunk that is asked for is touched at most twice and put once.
        queue=with_room(place.queue, keys, 3 * chunks),
    )


@inner
def leading(place: Place, keys: NDArray[np.int32]) -> int:
    """Return how many of the chunks are held, up to the first that is not."""
    count = 0
    while count < len(keys) and place.uses[keys[count]] > 0:
        count += 1
    return count


@inner
def touch(place: Place, keys: NDArray[np.int32]) -> None:
    """Count a use of held chunks, one after the other."""
    # Arrays handed to a helper are counted references, so all chunks are handed over at once.
    policy, totals, uses, touched = place.policy[0], place.totals, place.uses, place.touched
    for key in keys:
        uses[key] += 1
        if policy != _FIFO:
            totals[CLOCK] += 1
            touched[key] = totals[CLOCK]
        if policy == _MRU:  # the only one whose rank falls with use
            offer(place.queue, int(key), 0, -totals[CLOCK])


@inner
def add(place: Place, key: int, tokens: int) -> None:
    """Hold a chunk that is not held."""
    place.uses[key] = 1
    place.tokens[key] = tokens
    place.totals[HELD] += 1
    place.totals[USED] += tokens
    place.totals[PEAK] = max(place.totals[PEAK], place.totals[HELD])
    place.totals[CLOCK] += 1
    place.touched[key] = place.totals[CLOCK]
    first, second = _rank(place, key)
    offer(place.queue, key, first, second)


@inner
def drop(place: Place, spared: NDArray[np.bool_]) -> int:
    """Drop the chunk that goes first, and return it; `NOBODY` where all that is held is spared."""
    found = NOBODY
    count = 0
    while place.queue.size[0] > 0:
        key, first, second = take(place.queue)
        if key == NOBODY or place.uses[key] == 0:
            continue
        now_first, now_second = _rank(place, key)
        if now_first != first or now_second != second:
            offer(place.queue, key, now_first, now_second)
        elif spared[key]:
            place.passed[count] = key
            count += 1
        else:
            found = key
            break
    for key in place.passed[:count]:
        first, second = _rank(place, key)
        offer(place.queue, key, first, second)
    if found != NOBODY:
        place.uses[found] = 0
        place.totals[HELD] -= 1
        place.totals[USED] -= place.tokens[found]
    return found


@inner
def _rank(place: Place, key: int) -> tuple[int, int]:
    if place.policy[0] == _LFU:
        return place.uses[key], place.touched[key]
    if place.policy[0] == _MRU:
        return 0, -place.touched[key]
    return 0, place.touched[key]
