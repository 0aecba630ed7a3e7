"""Stack distances, compiled; `kvaudit.replay.models.stack` is what it must equal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.curve_rows import StackRows
from kvaudit.replay.kernels.compiled import compiled
from kvaudit.replay.kernels.growth import grown
from kvaudit.replay.models.stack import Runs

_UNSEEN = -1


class _List(NamedTuple):
    """The list, as in `PlainStack`."""

    counts: NDArray[np.int64]
    """Rows in the list, blocks in it, holes of the row before, rows so far."""
    toucher: NDArray[np.int32]
    """By key."""
    length: NDArray[np.int64]
    left: NDArray[np.int64]
    tree: NDArray[np.int64]
    """Numbered from 1."""


class CompiledStack:
    """`PlainStack` for large logs. Grows to 4 bytes a distinct block and 24 a row."""

    def __init__(self) -> None:
        """Start empty."""
        self._list = _List(
            counts=np.zeros(4, np.int64),
            toucher=np.empty(0, np.int32),
            length=np.empty(0, np.int64),
            left=np.empty(0, np.int64),
            tree=np.zeros(1, np.int64),
        )
        self._runs = Runs(*(np.empty(0, np.int64) for _ in Runs._fields))

    def feed(self, rows: StackRows) -> Runs:
        """Return the runs of the next batch."""
        stack = self._list
        number = int(stack.counts[0]) + len(rows.lengths)
        self._list = stack._replace(
            toucher=grown(stack.toucher, rows.key_count, fill=_UNSEEN),
            length=grown(stack.length, number),
            left=grown(stack.left, number),
            tree=grown(stack.tree, number + 1),
        )
        most = int(rows.lookups.sum())
        self._runs = runs = Runs(
            row=grown(self._runs.row, most),
            start=grown(self._runs.start, most),
            distance=grown(self._runs.distance, most),
            blocks=grown(self._runs.blocks, most),
            seen=np.empty(len(rows.lengths), np.int64),
        )
        used = _feed(
            self._list,
            rows.keys,
            rows.starts,
            rows.lengths,
            rows.lookups,
            rows.extra,
            rows.holes,
            runs,
        )
        # Copied, so that what was made for the worst case serves the next batch.
        return Runs(
            row=runs.row[:used].copy(),
            start=runs.start[:used].copy(),
            distance=runs.distance[:used].copy(),
            blocks=runs.blocks[:used].copy(),
            seen=runs.seen,
        )


@compiled
def _feed(
    stack: _List,
    keys: NDArray[np.int32],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    lookups: NDArray[np.int64],
    extra: NDArray[np.int64],
    holes: NDArray[np.int64],
    runs: Runs,
) -> int:
    """Write the runs; return how many there are."""
    # One function, since arrays handed to another are counted references; unsigned places, since
    # those need no look whether they count from the end: each made this twice as fast.
    _, toucher_of, length, left, tree = stack
    number, total, hole, before = stack.counts
    used = 0
    for row in range(len(lengths)):
        if lengths[row] == 0 and extra[row] == 0:  # what holds nothing needs no place in the list
            runs.seen[row] = 0
            hole = holes[row]
            continue
        path = keys[starts[row] : starts[row] + lengths[row]]
        blocks = np.int64(len(path))
        place = np.int64(0)
        toucher = toucher_of[np.uint32(path[0])] if blocks > 0 else _UNSEEN
        while toucher != _UNSEEN:
            end, following = place, toucher
            while following == toucher:
                toucher_of[np.uint32(path[np.uint64(end)])] = number
                end += 1
                if end == blocks:
                    break
                following = toucher_of[np.uint32(path[np.uint64(end)])]
            above = total + place
            at = np.int64(toucher) + 1
            while at > 0:
                above -= tree[at]
                at -= at & -at
            counted = min(end, lookups[row]) - place
            if counted > 0:
                runs.row[used] = before + row
                runs.start[used] = place
                gone = length[toucher] - left[toucher]
                runs.distance[used] = above + place - gone + 1 + hole
                runs.blocks[used] = counted
                used += 1
            count = end - place
            left[toucher] -= count
            total -= count
            at = np.int64(toucher) + 1
            while at <= number:
                tree[at] -= count
                at += at & -at
            place = end
            toucher = following if end < blocks else _UNSEEN
        runs.seen[row] = place
        for index in range(place, blocks):
            toucher_of[path[index]] = number
        blocks += extra[row]
        length[number] = blocks
        left[number] = blocks
        total += blocks
        at = number + 1
        below, end = at - 1, at - (at & -at)
        while below > end:
            blocks += tree[below]
            below -= below & -below
        tree[at] = blocks
        number += 1
        hole = holes[row]
    stack.counts[:] = (number, total, hole, before + len(lengths))
    return used
