"""What LMCache does with one request after the other, compiled.

`kvaudit.replay.models.chunks` is what it must equal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.blocks import NO_KEY
from kvaudit.replay.kernels.chunk_places import HELD, USED, Place, add, drop, leading, touch
from kvaudit.replay.kernels.chunk_room import NO_ROOM, Room, give_back, reserve
from kvaudit.replay.kernels.compiled import compiled, inner
from kvaudit.replay.kernels.eviction_queue import NOBODY

_CPU, _DISK, _REMOTE = range(3)


class Store(NamedTuple):
    """State of the store, by key unless stated."""

    places: tuple[Place, Place, Place]
    """CPU memory, disk and remote store."""
    room: Room
    start: NDArray[np.int64]
    """Where a chunk lies in CPU memory."""
    before: NDArray[np.int32]
    """The chunk before it when it was put there."""
    spared: NDArray[np.bool_]
    """Chunks that the request which is served reads: nothing evicts them."""
    due: NDArray[np.bool_]
    """Chunks that are about to be written to the disk."""
    peak: NDArray[np.int64]
    """The most chunks held or about to be, shape (1,)."""
    stalled: NDArray[np.int64]
    """Requests that found more than CPU memory holds at once, shape (1,)."""


class Work(NamedTuple):
    """What is asked, by request unless stated."""

    keys: NDArray[np.int32]
    """Of all chunks, one request after the other."""
    starts: NDArray[np.int64]
    prompt_tokens: NDArray[np.int64]
    served: NDArray[np.bool_]
    chunk_size: int
    limits: NDArray[np.int64]
    """Tokens of the disk and chunks of the remote store; -1 for one that there is not."""
    scratch: NDArray[np.int64]
    """Room for the starts of the chunks of one request."""


class _Asked(NamedTuple):
    """What one request asks for."""

    keys: NDArray[np.int32]
    prompt_tokens: int
    chunk_size: int
    starts: NDArray[np.int64]
    """Where room was made for each chunk; `NO_ROOM` once the chunk is held there."""


class Answer(NamedTuple):
    """What became of each request."""

    chunks: NDArray[np.int64]
    """Hits, shape (requests, tiers)."""
    written: NDArray[np.int64]
    """Tokens written to disk and remote store."""
    evicted: NDArray[np.int64]
    held: NDArray[np.int64]


@compiled
def serve_all(store: Store, work: Work, answer: Answer) -> None:
    """Serve the marked requests one after the other, and look the others up."""
    cpu, disk, remote = store.places
    for request in range(len(work.served)):
        keys = work.keys[work.starts[request] : work.starts[request + 1]]
        found = answer.chunks[request]
        found[_CPU] = leading(cpu, keys)
        if work.limits[0] >= 0:
            found[_DISK] = leading(disk, keys[found[_CPU] :])
        if work.limits[1] >= 0:
            found[_REMOTE] = leading(remote, keys[found[_CPU] + found[_DISK] :])
        if work.served[request]:
            touch(cpu, keys[: found[_CPU]][::-1])
            touch(disk, keys[found[_CPU] : found[_CPU] + found[_DISK]][::-1])
        if work.prompt_tokens[request] == 1 and found.sum() == 1:
            found[:] = 0  # its one token is computed again, so nothing is read
        elif work.served[request]:
            asked = _Asked(keys, work.prompt_tokens[request], work.chunk_size, work.scratch)
            answer.evicted[request] += _read(store, asked, found)
            evicted = _put_all(store, asked, found.sum(), work.limits, answer.written[request])
            answer.evicted[request] += evicted
        answer.held[request] = cpu.totals[HELD]


@inner
def _read(store: Store, asked: _Asked, found: NDArray[np.int64]) -> int:
    """Put what lower tiers had into CPU memory; return how many chunks that evicts."""
    cpu, disk, remote = store.places
    keys, own = asked.keys, found[_CPU]
    if found[_DISK] + found[_REMOTE] == 0:
        return 0
    for key in keys[:own]:
        store.spared[key] = True
    at, evicted, is_full = own, 0, False
    for tier in (_DISK, _REMOTE):
        wanted = 0 if is_full else found[tier]
        end, lost = _reserve_all(store, asked, at, at + wanted)
        evicted += lost
        if end < at + wanted:
            is_full = True
            store.stalled[0] += 1
        found[tier] = end - at
        touch(disk if tier == _DISK else remote, keys[at:end])
        for key in keys[at:end]:
            store.spared[key] = cpu.uses[key] == 0
        _hold(store, asked, at, end)
        at = end
    _free_unused(store, asked, own, at)
    for key in keys[:at]:
        store.spared[key] = False
    return evicted


@inner
def _put_all(
    store: Store, asked: _Asked, hits: int, limits: NDArray[np.int64], written: NDArray[np.int64]
) -> int:
    """Store what follows the hit in all tiers; return how many that evicts from CPU memory."""
    size = asked.chunk_size
    hit_tokens = min(hits * size, asked.prompt_tokens)
    if hits > 0 and asked.prompt_tokens < (hit_tokens // size + 1) * size:
        return 0
    end, evicted = _reserve_all(store, asked, hits, len(asked.keys))
    _hold(store, asked, hits, end)
    if limits[0] >= 0:
        written[0] = _write(store, asked, hits, end, limits[0])
    if limits[1] >= 0:
        written[1] = _send(store, asked, hits, end, limits[1])
    _free_unused(store, asked, hits, end)
    return int(evicted)


@inner
def _tokens(asked: _Asked, index: int) -> int:
    """Return the tokens of a chunk; only the last one is partial."""
    return int(min(asked.chunk_size, asked.prompt_tokens - index * asked.chunk_size))


@inner
def _reserve_all(store: Store, asked: _Asked, first: int, end: int) -> tuple[int, int]:
    """Make room for chunks from ``first`` on; return where that ends, and how many it evicts."""
    cpu = store.places[_CPU]
    evicted = 0
    for index in range(first, end):
        start = reserve(store.room, _tokens(asked, index))
        while start == NO_ROOM:
            oldest = drop(cpu, store.spared)
            if oldest == NOBODY:
                return index, evicted
            give_back(store.room, store.start[oldest], cpu.tokens[oldest])
            evicted += 1
            start = reserve(store.room, _tokens(asked, index))
        asked.starts[index] = start
        store.peak[0] = max(store.peak[0], cpu.totals[HELD] + index - first + 1)
    return end, evicted


@inner
def _hold(store: Store, asked: _Asked, first: int, end: int) -> None:
    """Hold chunks in CPU memory; the starts that stay are of room that is not needed."""
    cpu = store.places[_CPU]
    for index in range(first, end):
        key = int(asked.keys[index])
        if cpu.uses[key] == 0:
            add(cpu, key, _tokens(asked, index))
            store.start[key] = asked.starts[index]
            store.before[key] = asked.keys[index - 1] if index > 0 else NO_KEY
            asked.starts[index] = NO_ROOM


@inner
def _free_unused(store: Store, asked: _Asked, first: int, end: int) -> None:
    for index in range(first, end):
        if asked.starts[index] != NO_ROOM:
            give_back(store.room, asked.starts[index], _tokens(asked, index))


@inner
def _write(store: Store, asked: _Asked, first: int, end: int, limit: int) -> int:
    """Write chunks to the disk; return the tokens of those that were not there before."""
    disk = store.places[_DISK]
    coming = 0
    for index in range(first, end):
        key, tokens = int(asked.keys[index]), _tokens(asked, index)
        if disk.uses[key] > 0:
            touch(disk, asked.keys[index : index + 1])
        elif coming + tokens <= limit:
            while disk.totals[USED] + coming + tokens > limit:
                drop(disk, store.spared)
            coming += tokens
            store.due[key] = True
    for index in range(first, end):
        key = int(asked.keys[index])
        if store.due[key]:
            store.due[key] = False
            add(disk, key, _tokens(asked, index))
    return coming


@inner
def _send(store: Store, asked: _Asked, first: int, end: int, limit: int) -> int:
    """Write chunks to the remote store; return the tokens of those that were not there before."""
    remote = store.places[_REMOTE]
    sent = 0
    for index in range(first, end):
        key, tokens = int(asked.keys[index]), _tokens(asked, index)
        if remote.uses[key] > 0:
            touch(remote, asked.keys[index : index + 1])
            continue
        sent += tokens
        if remote.totals[HELD] == limit:
            drop(remote, store.spared)
        add(remote, key, tokens)
    return sent


@compiled
def unreachable(uses: NDArray[np.int64], before: NDArray[np.int32]) -> int:
    """Return how many held chunks no prompt can reach; a chunk's key exceeds the one before's."""
    within_reach = np.zeros(len(uses), np.bool_)
    count = 0
    for key in range(len(uses)):
        if uses[key] > 0:
            within_reach[key] = before[key] == NO_KEY or within_reach[before[key]]
            count += not within_reach[key]
    return count
