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
    with tempfile.TemporaryFile(prefix="kvaudit-") as spool:
        held: list[PromptBatch] = []
        times: list[NDArray[np.float64]] = []
        latest = -np.inf
        for batch in batches:
            batch.units.tofile(spool)
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
    arrived = np.empty(len(requests), np.float64)
    for i, request in enumerate(requests):
        if request.arrived_s is not None:
            latest = request.arrived_s
        elif request.arrive_step is not None:
            latest = float(request.arrive_step)
        arrived[i] = latest
    return arrived


def take(batch: PromptBatch, chosen: NDArray[np.int64]) -> PromptBatch:
    """Return the chosen requests of a batch, in that order."""
    lengths = np.diff(batch.offsets)[chosen]
    offsets = np.zeros(len(chosen) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    units = np.empty(offsets[-1], np.int32)
    for i, j in enumerate(chosen):
        units[offsets[i] : offsets[i + 1]] = batch.units[batch.offsets[j] : batch.offsets[j + 1]]
    return replace(
        batch,
        requests=[batch.requests[j] for j in chosen],
        units=units,
        offsets=offsets,
        prompt_units=batch.prompt_units[chosen],
        unit_tokens=batch.unit_tokens[chosen],
        prompt_tokens=batch.prompt_tokens[chosen],
        output_tokens=batch.output_tokens[chosen],
        namespaces=batch.namespaces[chosen],
    )


def concatenate(batches: Sequence[PromptBatch]) -> PromptBatch:
    """Return the batches as one; they must come from the same `Prompts`."""
    if len(batches) == 1:
        return batches[0]
    starts = np.cumsum([0, *(b.offsets[-1] for b in batches)])
    return replace(
        batches[-1],
        requests=[r for b in batches for r in b.requests],
        units=np.concatenate([b.units for b in batches]),
        offsets=np.concatenate(
            [starts[:1], *(b.offsets[1:] + s for b, s in zip(batches, starts, strict=False))]
        ),
        prompt_units=np.concatenate([b.prompt_units for b in batches]),
        unit_tokens=np.concatenate([b.unit_tokens for b in batches]),
        prompt_tokens=np.concatenate([b.prompt_tokens for b in batches]),
        output_tokens=np.concatenate([b.output_tokens for b in batches]),
        namespaces=np.concatenate([b.namespaces for b in batches]),
    )


def without_outputs(batch: PromptBatch) -> PromptBatch:
    """Return the batch with no generated unit known; how many there are stays as it is."""
    ends = batch.offsets[:-1] + batch.prompt_units
    offsets = np.zeros(len(ends) + 1, np.int64)
    np.cumsum(batch.prompt_units, out=offsets[1:])
    pieces = [batch.units[a:b] for a, b in zip(batch.offsets[:-1], ends, strict=True)]
    return replace(batch, units=np.concatenate(pieces), offsets=offsets)


def _cut(whole: PromptBatch, order: NDArray[np.int64]) -> Iterator[PromptBatch]:
    for start in range(0, len(order), BATCH_REQUESTS):
        yield take(whole, order[start : start + BATCH_REQUESTS])


def _units(batches: Sequence[PromptBatch]) -> int:
    return sum(len(b.units) for b in batches)
