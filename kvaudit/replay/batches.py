"""Batches cut, joined and stripped; all return new ones, since a batch never changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.hash_rows import HashRows
from kvaudit.core.prompts import PromptBatch, RequestFacts


def offsets_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each of the runs of these lengths begins, and where the last one ends."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def joined_offsets(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return offsets into several arrays as offsets into all of them, one behind the other."""
    starts = np.cumsum([0, *(part[-1] for part in parts)])
    moved = (part[1:] + start for part, start in zip(parts, starts, strict=False))
    return np.concatenate([starts[:1], *moved])


def batch_of_rows(
    rows: HashRows,
    facts: Sequence[RequestFacts],
    units: NDArray[np.int32],
    namespace: int,
    names: Sequence[str],
) -> PromptBatch:
    """Return requests in columns as a batch, all of one namespace."""
    return PromptBatch(
        requests=facts,
        units=units,
        offsets=rows.offsets,
        prompt_units=np.diff(rows.offsets),
        unit_tokens=np.full(rows.requests, rows.block_tokens, np.int64),
        prompt_tokens=rows.prompt_tokens,
        output_tokens=rows.output_tokens,
        namespaces=np.full(rows.requests, namespace, np.int32),
        namespace_names=names,
    )


def take(batch: PromptBatch, chosen: NDArray[np.int64]) -> PromptBatch:
    """Return the chosen requests of a batch, in that order."""
    offsets = offsets_of(np.diff(batch.offsets)[chosen])
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
    return replace(
        batches[-1],
        requests=[r for b in batches for r in b.requests],
        units=np.concatenate([b.units for b in batches]),
        offsets=joined_offsets([b.offsets for b in batches]),
        prompt_units=np.concatenate([b.prompt_units for b in batches]),
        unit_tokens=np.concatenate([b.unit_tokens for b in batches]),
        prompt_tokens=np.concatenate([b.prompt_tokens for b in batches]),
        output_tokens=np.concatenate([b.output_tokens for b in batches]),
        namespaces=np.concatenate([b.namespaces for b in batches]),
    )


def without_outputs(batch: PromptBatch) -> PromptBatch:
    """Return the batch with no generated unit known; how many there are stays as it is."""
    ends = batch.offsets[:-1] + batch.prompt_units
    pieces = [batch.units[a:b] for a, b in zip(batch.offsets[:-1], ends, strict=True)]
    return replace(batch, units=np.concatenate(pieces), offsets=offsets_of(batch.prompt_units))
