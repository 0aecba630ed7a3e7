"""Stack distances, compiled; `kvaudit.replay.models.stack` is what it must equal.

Nothing is done block by block, but by run of consecutive keys. A row meets what others touched of a
run from its beginning, so who touched its blocks last is kept by *piece*: blocks side by side that
the same row touched last. A row takes the pieces of a run one after the other, cuts the one that
it ends in, and leaves one of its own.

All rows of a batch are first taken through the pieces, and then the distances of what they met are
found. In one loop each would wait for the other's memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.curve_rows import StackRows
from kvaudit.replay.kernels.compiled import compiled, inner
from kvaudit.replay.kernels.growth import grown
from kvaudit.replay.models.stack import Runs

_UNSEEN = 0
_TOUCHER, _END = range(2)
"""Columns of ``pieces``."""
_ROW, _START, _DISTANCE, _BLOCKS = range(4)
"""Columns of a table of runs; until distances are found, the toucher stands for them."""


class _List(NamedTuple):
    """The list, as in `PlainStack`, with rows numbered from 1."""

    counts: NDArray[np.int64]
    """Rows in the list, blocks in it, holes of the row before, rows so far."""
    pieces: NDArray[np.int32]
    """By the first key of a piece: the row that touched it last, or `_UNSEEN`, and the key behind
    its last one. Keys within a piece have entries that nobody reads."""
    gone: NDArray[np.int64]
    """The blocks at the beginning of each row that others touched since."""
    tree: NDArray[np.int64]
    """Fenwick's, of the blocks that are left of each row."""


class _Rows(NamedTuple):
    """Fields of `StackRows` and its runs."""

    shifts: NDArray[np.int32]
    ends: NDArray[np.int32]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    lookups: NDArray[np.int64]
    extra: NDArray[np.int64]
    holes: NDArray[np.int64]


class CompiledStack:
    """`PlainStack` for large logs. Grows to 8 bytes a distinct block and 16 a row."""

    def __init__(self) -> None:
        """Start empty."""
        self._list = _List(
            counts=np.zeros(4, np.int64),
            pieces=np.empty((0, 2), np.int32),
            gone=np.empty(1, np.int64),
            tree=np.zeros(1, np.int64),
        )
        self._runs = np.empty((0, 4), np.int64)

    def feed(self, rows: StackRows) -> Runs:
        """Return the runs of the next batch."""
        stack = self._list
        number = int(stack.counts[0]) + len(rows.lengths)
        self._list = stack._replace(
            pieces=grown(stack.pieces, rows.key_count, fill=_UNSEEN),
            gone=grown(stack.gone, number + 1),
            tree=grown(stack.tree, number + 1),
        )
        self._runs = grown(self._runs, int(rows.lengths.sum()))
        seen = np.empty(len(rows.lengths), np.int64)
        used = _feed(
            self._list,
            _Rows(
                shifts=rows.runs.shifts,
                ends=rows.runs.ends,
                starts=rows.starts,
                lengths=rows.lengths,
                lookups=rows.lookups,
                extra=rows.extra,
                holes=rows.holes,
            ),
            self._runs,
            seen,
        )
        # Copied, so that what was made for the worst case serves the next batch.
        row, start, distance, blocks = self._runs[:used].T.copy()
        return Runs(row, start, distance, blocks, seen)


@compiled
def _feed(stack: _List, rows: _Rows, runs: NDArray[np.int64], seen: NDArray[np.int64]) -> int:
    """Write the runs; return how many there are."""
    found = _touch(stack, rows, runs, seen)
    return int(_measure(stack, rows, runs, found))


@inner
def _touch(stack: _List, rows: _Rows, runs: NDArray[np.int64], seen: NDArray[np.int64]) -> int:
    """Write a run for each row's blocks that the same row touched last; return how many."""
    pieces, number = stack.pieces, stack.counts[0] + 1
    found = np.uint64(0)
    for row in range(len(rows.lengths)):
        length, run = rows.lengths[row], rows.starts[row]
        place, before, all_seen = np.int64(0), _UNSEEN, True
        at = np.int64(0)
        while at < length:
            shift = np.int64(rows.shifts[run])
            begin = key = shift + at
            at = min(np.int64(rows.ends[run]), length)
            end = shift + at
            run += 1
            while all_seen and key < end:
                toucher, behind = pieces[key, _TOUCHER], np.int64(pieces[key, _END])
                if toucher == _UNSEEN:
                    all_seen = False
                    break
                if toucher != before:
                    runs[found, _ROW] = row
                    runs[found, _START] = place
                    runs[found, _DISTANCE] = before = toucher
                    runs[found, _BLOCKS] = 0
                    found += np.uint64(1)
                cut = min(behind, end)
                runs[found - np.uint64(1), _BLOCKS] += cut - key
                place += cut - key
                key = cut
                if cut < behind:
                    pieces[cut, _TOUCHER] = toucher
                    pieces[cut, _END] = behind
            pieces[begin, _TOUCHER] = number
            pieces[begin, _END] = end
        seen[row] = place
        if rows.lengths[row] + rows.extra[row] > 0:
            number += 1
    return int(np.int64(found))


@inner
def _measure(stack: _List, rows: _Rows, runs: NDArray[np.int64], found: int) -> int:
    """Find the distances of the first ``found`` runs; return how many may be hits.

    Those are put in front.
    """
    number, total, hole, before = stack.counts
    tree, gone = stack.tree, stack.gone
    run = used = 0
    for row in range(len(rows.lengths)):
        while run < found and runs[run, _ROW] == row:
            _, place, toucher, blocks = runs[run]
            # Above it stand all younger rows, with what this one took from them already.
            above = total - _sum_to(tree, toucher) + place
            counted = min(blocks, rows.lookups[row] - place)
            if counted > 0:
                runs[used, _ROW] = before + row
                runs[used, _START] = place
                runs[used, _DISTANCE] = above + place - gone[toucher] + 1 + hole
                runs[used, _BLOCKS] = counted
                used += 1
            gone[toucher] += blocks
            total -= blocks
            _take(tree, toucher, number, blocks)
            run += 1
        hole = rows.holes[row]
        blocks = rows.lengths[row] + rows.extra[row]
        if blocks > 0:  # what holds nothing needs no place in the list
            number += 1
            gone[number] = 0
            total += blocks
            _push(tree, number, blocks)
    stack.counts[:] = (number, total, hole, before + len(rows.lengths))
    return used


@inner
def _sum_to(tree: NDArray[np.int64], row: int) -> int:
    """Return the blocks left of the rows up to this one."""
    total, at = np.int64(0), np.uint64(row)
    while at > np.uint64(0):
        total += tree[at]
        at &= at - np.uint64(1)
    return int(total)


@inner
def _take(tree: NDArray[np.int64], row: int, rows: int, blocks: int) -> None:
    """Take blocks from a row of so many."""
    while row <= rows:
        tree[row] -= blocks
        row += row & -row


@inner
def _push(tree: NDArray[np.int64], row: int, blocks: int) -> None:
    """Put a new row on top."""
    below, end = row - 1, row - (row & -row)
    while below > end:
        blocks += tree[below]
        below -= below & -below
    tree[row] = blocks
