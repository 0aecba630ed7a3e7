"""Runs of units by their hash: what two prompts have in common, wherever it stands.

Of all runs some are chosen by their own hash (winnowing by modulus, Manber 1994).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_SAMPLED = 32
"""One of so many runs is remembered; a repeat of ten blocks is then missed once in 150."""
_BASE = 0x9E3779B97F4A7C15
_WORD = 2**64 - 1
_MIX = np.uint64(0xBF58476D1CE4E5B9)


def common_units(one: NDArray[np.int32], other: NDArray[np.int32]) -> int:
    """Return how many units two prompts begin with in common."""
    size = min(len(one), len(other))
    differs = one[:size] != other[:size]
    first = int(differs.argmax()) if size else 0
    return first if size and differs[first] else size


def found_at(units: NDArray[np.int32], run: NDArray[np.int32]) -> int | None:
    """Return where a run first stands in a prompt."""
    width = len(run)
    starts = np.flatnonzero(units[: max(len(units) - width + 1, 0)] == run[:1])
    return next((at for at in starts.tolist() if np.array_equal(units[at : at + width], run)), None)


def grams_of(units: NDArray[np.int32], width: int) -> NDArray[np.uint64]:
    """Return a hash of every run of ``width`` units, a power of two, by doubling."""
    hashes = units.astype(np.uint64) + np.uint64(1)
    power, size = _BASE, 1
    while size < width:
        if len(hashes) <= size:
            return np.empty(0, np.uint64)
        hashes = hashes[:-size] * np.uint64(power) + hashes[size:]
        power, size = power * power & _WORD, 2 * size
    hashes ^= hashes >> np.uint64(31)
    hashes *= _MIX
    hashes ^= hashes >> np.uint64(29)
    return hashes


def chosen_of(grams: NDArray[np.uint64], namespace: int) -> NDArray[np.uint64]:
    """Return the runs by which a text is known, told apart by namespace."""
    chosen: NDArray[np.uint64] = grams[grams % np.uint64(_SAMPLED) == 0]
    return chosen ^ np.uint64(namespace * 0x94D049BB133111EB & _WORD)


def repeated(later: NDArray[np.int32], earlier: NDArray[np.int32], width: int) -> NDArray[np.bool_]:
    """Return which units of ``later`` lie in a run of ``width`` that ``earlier`` has as well."""
    found = np.zeros(len(later), np.bool_)
    known = np.sort(grams_of(earlier, width))
    own = grams_of(later, width)
    if not len(known) or not len(own):
        return found
    at = np.searchsorted(known, own)
    at[at == len(known)] = 0
    return covered(known[at] == own, width)


def dense(found: NDArray[np.bool_], width: int, share: float) -> NDArray[np.bool_]:
    """Return those of the marked units around which, within ``width``, a share of all is marked."""
    sums = np.concatenate([[0], np.cumsum(found)])
    at = np.arange(len(found))
    low, high = np.maximum(at - width, 0), np.minimum(at + width + 1, len(found))
    kept: NDArray[np.bool_] = found & (sums[high] - sums[low] >= share * (high - low))
    return kept


def covered(starts: NDArray[np.bool_], width: int) -> NDArray[np.bool_]:
    """Return which units lie in a run of ``width`` units, by which of them begin one."""
    edges = np.zeros(len(starts) + width, np.int64)
    edges[: len(starts)] += starts
    edges[width:] -= starts
    return np.cumsum(edges[:-1]) > 0


def reach(again: NDArray[np.bool_], behind: int) -> int:
    """Return how long the first run of what comes again is, as far as it lies behind a unit."""
    if not again.any():
        return 0
    start = int(again.argmax())
    others = np.flatnonzero(~again[start:])
    end = start + int(others[0]) if len(others) else len(again)
    return max(end - max(start, behind), 0)


def longest(again: NDArray[np.bool_], behind: int) -> int:
    """Return how long the longest run of what comes again is, as far as it lies behind a unit."""
    starts, ends = runs_of(again[behind:])
    return int((ends - starts).max(initial=0))


def runs_of(marked: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the runs of marked units begin and end."""
    edges = np.flatnonzero(np.diff(marked.astype(np.int8), prepend=0, append=0))
    return edges[::2], edges[1::2]
