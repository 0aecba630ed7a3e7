"""Stack distances of prefix caches in one pass: for every block, which capacities hit it.

Where a cache of C blocks always holds the first C of one list, whatever C is, one list serves
all capacities: a use hits in every cache that is larger than the block's place in the list
(R. L. Mattson et al., Evaluation techniques for storage hierarchies, IBM Systems Journal 9(2),
1970). The list here is that of an LRU that frees a request's blocks last first: the blocks of
the newest request in the order of its text, then what is left of the one before, and so on.

A request touches a path from its beginning, so what it takes from an older one is a *prefix*
of what is left there, and the rest stays together. So the list is kept by request, not by
block: a number for each request of how many blocks are left, and sums of these numbers from a
Fenwick tree (P. M. Fenwick, A new data structure for cumulative frequency tables, Software:
Practice and Experience 24(3), 1994). Blocks that were touched last by the same request follow
each other in the list, so distances come in runs of consecutive numbers.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.curve_rows import StackRows, keys_of_rows


class Runs(NamedTuple):
    """Uses of blocks that were seen before: one entry a run, and one a row where stated."""

    row: NDArray[np.int64]
    """Number of the row in the whole log."""
    start: NDArray[np.int64]
    """Place of the run's first block in its row."""
    distance: NDArray[np.int64]
    """The least capacity, in blocks, that hits the first block; the next needs one more."""
    blocks: NDArray[np.int64]
    seen: NDArray[np.int64]
    """For each row, how many of its leading blocks were seen before, hits or not."""


class StackPass(Protocol):
    """Reads a log in batches; remembers the list from batch to batch."""

    def feed(self, rows: StackRows) -> Runs:
        """Return the runs of the next batch."""
        ...


class PlainStack:
    """The list in plain Python. Grows to about 100 bytes a distinct block and 100 a row."""

    def __init__(self) -> None:
        """Start empty."""
        self._toucher: dict[int, int] = {}  # of each block, the row that touched it last
        self._length: list[int] = []  # of each row, its blocks
        self._left: list[int] = []  # of each row, the blocks it touched last: a suffix of them
        self._tree: list[int] = [0]  # Fenwick tree over `_left`, numbered from 1
        self._total = 0
        self._holes = 0  # of the row before

    def feed(self, rows: StackRows) -> Runs:
        """Return the runs of the next batch."""
        all_keys, starts = keys_of_rows(rows)
        keys = all_keys.tolist()
        runs: list[tuple[int, int, int, int]] = []
        seen = []
        bounds = zip(starts.tolist(), rows.lengths.tolist(), strict=True)
        room = zip(rows.extra.tolist(), rows.holes.tolist(), strict=True)
        for (start, length), lookups, (extra, holes) in zip(
            bounds, rows.lookups.tolist(), room, strict=True
        ):
            path = keys[start : start + length]
            groups = self._touch(path)
            number = len(self._left)
            for place, distance, count in groups:
                counted = min(count, lookups - place)
                if counted > 0:
                    # A hole is room that the next request takes first, and so room that the
                    # cache lacks while this one is looked up.
                    runs.append((number, place, distance + self._holes, counted))
            seen.append(sum(count for *_, count in groups))
            self._push(length + extra)
            self._holes = holes
        table = np.array(runs, np.int64).reshape(-1, 4)
        return Runs(table[:, 0], table[:, 1], table[:, 2], table[:, 3], np.array(seen, np.int64))

    def _touch(self, path: list[int]) -> list[tuple[int, int, int]]:
        """Take the seen blocks of a path out of the list; return (place, distance, count)."""
        number = len(self._left)
        groups = []
        place = 0
        while place < len(path) and (toucher := self._toucher.get(path[place])) is not None:
            count = 0
            while place + count < len(path) and self._toucher.get(path[place + count]) == toucher:
                self._toucher[path[place + count]] = number
                count += 1
            # Above it stand all younger rows, with what this path took from them already.
            above = self._total - self._sum_to(toucher) + place
            gone = self._length[toucher] - self._left[toucher]
            groups.append((place, above + place - gone + 1, count))
            self._take(toucher, count)
            place += count
        for key in path[place:]:
            self._toucher[key] = number
        return groups

    def _take(self, row: int, count: int) -> None:
        self._left[row] -= count
        self._total -= count
        at = row + 1
        while at < len(self._tree):
            self._tree[at] -= count
            at += at & -at

    def _sum_to(self, row: int) -> int:
        """Return the blocks left of the rows up to this one."""
        total, at = 0, row + 1
        while at:
            total += self._tree[at]
            at -= at & -at
        return total

    def _push(self, blocks: int) -> None:
        """Put a new row on top of the list."""
        self._length.append(blocks)
        self._left.append(blocks)
        self._total += blocks
        at = len(self._tree)
        below, end = at - 1, at - (at & -at)
        while below > end:
            blocks += self._tree[below]
            below -= below & -below
        self._tree.append(blocks)
