"""What is evicted next: a heap of items by rank, compiled.

A rank is two numbers; the smallest goes first. An item is named again when its rank falls, so the
heap may hold entries that are out of date: the best rank an item waits under is kept beside it,
and any other entry of it is passed over.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import inner
from kvaudit.replay.kernels.growth import grown

NOBODY = -1
_NOT_QUEUED = np.iinfo(np.int64).max


class Queue(NamedTuple):
    """State of the queue."""

    size: NDArray[np.int64]
    """Entries of the heap, shape (1,)."""
    first: NDArray[np.int64]
    """By place in the heap, like the next two."""
    second: NDArray[np.int64]
    item: NDArray[np.int32]
    best_first: NDArray[np.int64]
    """By item: the smallest rank under which it waits."""
    best_second: NDArray[np.int64]


def empty_queue() -> Queue:
    """Return a queue in which nobody waits."""
    none = np.empty(0, np.int64)
    return Queue(
        size=np.zeros(1, np.int64),
        first=none,
        second=none.copy(),
        item=np.empty(0, np.int32),
        best_first=none.copy(),
        best_second=none.copy(),
    )


def with_room(queue: Queue, items: int, offers: int) -> Queue:
    """Return the queue with room for ``items`` items and for ``offers`` more entries."""
    entries = int(queue.size[0]) + offers
    return Queue(
        size=queue.size,
        first=grown(queue.first, entries),
        second=grown(queue.second, entries),
        item=grown(queue.item, entries),
        best_first=grown(queue.best_first, items, fill=_NOT_QUEUED),
        best_second=grown(queue.best_second, items),
    )


@inner
def offer(queue: Queue, item: int, first: int, second: int) -> None:
    """Let the item wait under a rank, unless it waits under one that is no greater."""
    waits_first, waits_second = queue.best_first[item], queue.best_second[item]
    if first > waits_first or (first == waits_first and second >= waits_second):
        return
    queue.best_first[item], queue.best_second[item] = first, second
    # No calls in the loops, here and below: each would count the references of all arrays.
    firsts, seconds, items = queue.first, queue.second, queue.item
    place = queue.size[0]
    queue.size[0] += 1
    while place > 0:
        above = (place - 1) // 2
        if first > firsts[above] or (first == firsts[above] and second >= seconds[above]):
            break
        firsts[place], seconds[place], items[place] = firsts[above], seconds[above], items[above]
        place = above
    firsts[place], seconds[place], items[place] = first, second, item


@inner
def take(queue: Queue) -> tuple[int, int, int]:
    """Take out the first entry: its item and its rank. `NOBODY` where the entry was out of date."""
    firsts, seconds, items = queue.first, queue.second, queue.item
    first, second, item = firsts[0], seconds[0], int(items[0])
    queue.size[0] -= 1
    last = queue.size[0]
    moved_first, moved_second, moved = firsts[last], seconds[last], items[last]
    place = 0
    while 2 * place + 1 < last:
        below = 2 * place + 1
        after = below + 1
        if after < last and (
            firsts[after] < firsts[below]
            or (firsts[after] == firsts[below] and seconds[after] < seconds[below])
        ):
            below = after
        if moved_first < firsts[below] or (
            moved_first == firsts[below] and moved_second < seconds[below]
        ):
            break
        firsts[place], seconds[place], items[place] = firsts[below], seconds[below], items[below]
        place = below
    firsts[place], seconds[place], items[place] = moved_first, moved_second, moved
    if queue.best_first[item] != first or queue.best_second[item] != second:
        return NOBODY, first, second
    queue.best_first[item] = _NOT_QUEUED
    return item, first, second
