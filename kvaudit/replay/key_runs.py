"""The blocks of requests as runs of consecutive keys.

A request of thousands of blocks has a handful of runs, so what goes from run to run need not look
at every block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.batches import joined_offsets, offsets_of


class KeyRuns(NamedTuple):
    """The runs of a batch's requests."""

    shifts: NDArray[np.int32]
    """Of each run: what is added to the place of a block in its request to give its key."""
    ends: NDArray[np.int32]
    """Of each run: the place behind its last block."""
    offsets: NDArray[np.int64]
    """Where the runs of each request begin, and where the last one's end; shape
    (requests + 1,)."""


def runs_of_keys(keys: NDArray[np.int32], offsets: NDArray[np.int64]) -> KeyRuns:
    """Return keys, of which no two need be consecutive, as runs of one block each."""
    begins = np.repeat(offsets[:-1], np.diff(offsets))
    places = (np.arange(len(keys)) - begins).astype(np.int32)
    return KeyRuns(keys - places, places + np.int32(1), offsets)


def joined_runs(parts: Sequence[KeyRuns]) -> KeyRuns:
    """Return the runs of consecutive batches as those of one."""
    return KeyRuns(
        shifts=np.concatenate([part.shifts for part in parts]),
        ends=np.concatenate([part.ends for part in parts]),
        offsets=joined_offsets([part.offsets for part in parts]),
    )


def keys_of_runs(runs: KeyRuns) -> NDArray[np.int32]:
    """Return the key of every block, request after request."""
    lengths = runs.ends - begins_of(runs)
    before = offsets_of(block_counts(runs))[:-1]  # blocks of the requests before each
    shifts = runs.shifts - np.repeat(before, np.diff(runs.offsets)).astype(np.int32)
    return np.repeat(shifts, lengths) + np.arange(lengths.sum(), dtype=np.int32)


def keys_by_request(runs: KeyRuns) -> list[NDArray[np.int32]]:
    """Return the keys of each request's blocks."""
    ends = np.cumsum(block_counts(runs))
    return np.split(keys_of_runs(runs), ends)[:-1]


def begins_of(runs: KeyRuns) -> NDArray[np.int32]:
    """Return the place of each run's first block."""
    begins = np.zeros_like(runs.ends)
    begins[1:] = runs.ends[:-1]
    begins[runs.offsets[:-1][np.diff(runs.offsets) > 0]] = 0
    return begins


def block_counts(runs: KeyRuns) -> NDArray[np.int64]:
    """Return how many blocks each request has."""
    last = runs.offsets[1:]
    counts = np.zeros(len(last), np.int64)
    some = np.diff(runs.offsets) > 0
    counts[some] = runs.ends[last[some] - 1]
    return counts


def with_unknown(
    runs: KeyRuns, known: NDArray[np.int64], blocks: NDArray[np.int64], first_key: int
) -> KeyRuns:
    """Return runs of each request's ``blocks``, of which only the ``known`` first ones have keys.

    The others get keys from ``first_key`` on that no other block has.
    """
    requests = np.arange(len(known))
    owner = np.repeat(requests, np.diff(runs.offsets))
    kept = begins_of(runs) < known[owner]
    rest = blocks - known
    more = rest > 0
    shifts = first_key + np.cumsum(rest) - rest - known
    owner, limit = np.append(owner[kept], requests[more]), known[owner[kept]]
    order = np.argsort(owner, kind="stable")
    return KeyRuns(
        np.append(runs.shifts[kept], shifts[more])[order].astype(np.int32),
        np.append(np.minimum(runs.ends[kept], limit), blocks[more])[order].astype(np.int32),
        offsets_of(np.bincount(owner, minlength=len(known))),
    )
