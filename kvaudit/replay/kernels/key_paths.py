"""The pages of requests as SGLang's tree goes over them, compiled: from run to run of keys.

Two requests have the same page where its key is the same, and so all pages of two runs that have
one shift (`kvaudit.replay.key_runs.KeyRuns`): whole runs are compared, not keys.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.kernels.compiled import compiled, inner
from kvaudit.replay.key_runs import KeyRuns

SHIFT, END = range(2)
"""Columns of the table of all runs."""
_NO_KEYS = np.iinfo(np.int32).min
"""Shift of what stands behind the pages that have keys: theirs would be negative."""


class Path(NamedTuple):
    """The pages of a request that have keys."""

    run: int
    """The first of its runs."""
    pages: int


class Place(NamedTuple):
    """Where a walk stands: before a page, which is in a run of the path and in one of a node."""

    page: int
    run: int
    node_run: int


def most_runs(runs: KeyRuns) -> int:
    """Return how many rows `add_paths` can need."""
    return len(runs.ends) + len(runs.offsets)


@compiled
def add_paths(
    table: NDArray[np.int32],
    used: int,
    runs: KeyRuns,
    pages: NDArray[np.int64],
    first: NDArray[np.int64],
) -> int:
    """Add the runs of each request's first ``pages``; return how many there are then.

    Writes where those of each request begin.
    """
    shifts, ends, offsets = runs
    for request in range(len(pages)):
        first[request] = used
        for run in range(offsets[request], offsets[request + 1]):
            table[used, SHIFT] = shifts[run]
            table[used, END] = ends[run]
            used += 1
            if ends[run] >= pages[request]:
                break
        if used > first[request]:
            table[used - 1, END] = min(table[used - 1, END], pages[request])
        table[used, SHIFT] = _NO_KEYS
        table[used, END] = np.iinfo(np.int32).max
        used += 1
    return used


@inner
def shared(table: NDArray[np.int32], place: Place, limit: int) -> Place:
    """Go on for as long as path and node have the same pages, but not beyond ``limit``."""
    page, run, node_run = place
    while page < limit and table[run, SHIFT] == table[node_run, SHIFT]:
        end, node_end = table[run, END], table[node_run, END]
        page = int(min(end, node_end, limit))
        run += page == end
        node_run += page == node_end
    return Place(page, run, node_run)
