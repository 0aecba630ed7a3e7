"""Requests in the order they arrived, whatever the order of the file.

Logs are written when a request ends, merged from several replicas, or exported newest first.
A window is held and sorted, which is enough for the first two; a log that is further out of
order raises `OutOfOrder`, and the caller starts again with `sort_all`, which keeps the units
on disk. Ties, and requests without a time, keep the order of the file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch, RequestFacts
from kvaudit.core.scratch import room_for
from kvaudit.replay.batches import concatenate, take
from kvaudit.replay.facts import RowFacts

WINDOW_REQUESTS = 4096
WINDOW_UNITS = 16 << 20
BATCH_REQUESTS = 512


class OutOfOrder(Exception):
    """A request arrived before one that was handed on already."""


def in_window(batches: Iterable[PromptBatch]) -> Iterator[PromptBatch]:
    """Yield the requests by arrival, holding about two windows of them at a time.

    Raises `OutOfOrder` when a request belongs before one that was yielded.
    """
    held: list[PromptBatch] = []
    times: list[NDArray[np.float64]] = []
    latest = -np.inf  # last known time in the file, for requests without one
    yielded = -np.inf
    for batch in batches:
        arrived = arrival_times(batch.requests, latest)
        latest = arrived[-1]
        if arrived.min() < yielded:
            raise OutOfOrder
        held.append(batch)
        times.append(arrived)
        if sum(map(len, times)) >= 2 * WINDOW_REQUESTS or _units(held) >= 2 * WINDOW_UNITS:
            held, times = _sorted(held, times)
            first = -(-len(held) // 2)
            yielded = times[first - 1][-1]
            yield from held[:first]
            held, times = held[first:], times[first:]
    if held:
        yield from _sorted(held, times)[0]


def _sorted(
    batches: list[PromptBatch], times: list[NDArray[np.float64]]
) -> tuple[list[PromptBatch], list[NDArray[np.float64]]]:
    """Return the same requests in batches by arrival; a log in order is not copied."""
    when = np.concatenate(times)
    if not (when[1:] < when[:-1]).any():
        return batches, times
    order = np.argsort(when, kind="stable")
    whole = concatenate(batches)
    size = min(BATCH_REQUESTS, -(-len(order) // 8))  # parts enough to hand on half of them
    parts = [order[i : i + size] for i in range(0, len(order), size)]
    return [take(whole, part) for part in parts], [when[part] for part in parts]


def sort_all(batches: Iterable[PromptBatch]) -> Iterator[PromptBatch]:
    """Yield all requests by arrival; their units lie in a temporary file meanwhile.

    The file takes 4 bytes a unit. What stays in memory is about 300 bytes a request.
    """
    with (
        room_for("the log, which is far out of order and has to be sorted"),
        tempfile.TemporaryFile(prefix="kvaudit-") as spool,
    ):
        held: list[PromptBatch] = []
        times: list[NDArray[np.float64]] = []
        latest = -np.inf
        for batch in batches:
            spool.write(np.ascontiguousarray(batch.units).data)
            arrived = arrival_times(batch.requests, latest)
            latest = arrived[-1]
            times.append(arrived)
            held.append(replace(batch, units=np.empty(0, np.int32)))
        spool.flush()
        if not held:
            return
        whole = concatenate(held)
        if whole.offsets[-1]:
            whole = replace(whole, units=np.memmap(spool, np.int32, mode="r"))
        yield from _cut(whole, np.argsort(np.concatenate(times), kind="stable"))


def arrival_times(requests: Sequence[RequestFacts], latest: float) -> NDArray[np.float64]:
    """Return each request's arrival; one without a time counts as arriving with its predecessor.

    ``latest`` is the time before the first request; -inf where no time is known yet, so that
    the requests at the head of a log without times stay there.
    """
    if isinstance(requests, RowFacts):
        return requests.arrived_s
    arrived = np.empty(len(requests), np.float64)
    for i, request in enumerate(requests):
        if request.arrived_s is not None:
            latest = request.arrived_s
        elif request.arrive_step is not None:
            latest = float(request.arrive_step)
        arrived[i] = latest
    return arrived


def _cut(whole: PromptBatch, order: NDArray[np.int64]) -> Iterator[PromptBatch]:
    for start in range(0, len(order), BATCH_REQUESTS):
        yield take(whole, order[start : start + BATCH_REQUESTS])


def _units(batches: Sequence[PromptBatch]) -> int:
    return sum(len(b.units) for b in batches)
