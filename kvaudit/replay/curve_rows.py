"""What each request looks up, leaves and wastes, in blocks: what a curve is made from.

A curve needs less of an engine than a replay does: which blocks a request touches, from the
first one on; how many of them it may reuse; and how much room it takes beside them. An engine
says this in rows, one or two a request, and says whether a cache of any capacity is then the
top of one list (`CurveRules.is_stack`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.batches import offsets_of
from kvaudit.replay.blocks import BlockBatch, known_full_blocks
from kvaudit.replay.key_runs import KeyRuns, begins_of, joined_runs, keys_of_runs, runs_of_keys
from kvaudit.replay.paths import request_paths


class StackRows(NamedTuple):
    """Rows of keys, ``per_request`` of them for each request; arrays have one entry a row."""

    runs: KeyRuns
    starts: NDArray[np.int64]
    """The run of keys that each row begins with; rows may share their runs."""
    lengths: NDArray[np.int64]
    """How many keys each row has: of the blocks that are touched, first to last."""
    lookups: NDArray[np.int64]
    """How many leading blocks may be hits; 0 for a row that is admitted only."""
    extra: NDArray[np.int64]
    """Blocks behind the row that stay and that nothing can hit."""
    holes: NDArray[np.int64]
    """Blocks that are taken meanwhile and are the first to be taken again."""
    key_count: int
    """Keys given out so far: all in the rows are smaller."""
    per_request: int
    recomputes: bool
    """Whether a block behind ``lookups`` is computed again though it is held, and kept twice."""


@dataclass(frozen=True, slots=True)
class CurveRules:
    """How an engine's cache is laid out in rows, and when one pass gives all capacities."""

    rows: Callable[[PromptBatch, BlockBatch], StackRows]
    is_stack: bool
    """Whether each capacity that holds the largest request holds the top of one list."""
    has_optimal: bool = True
    """Whether hits are of whole blocks of the rows and need all blocks before them, as a window's
    do not. Without that the rows say nothing of what eviction that knows the future could give."""


def full_block_rows(
    prompts: PromptBatch,
    blocks: BlockBatch,
    *,
    block_tokens: int,
    last_token_hits: bool = False,
    output_stays: bool = True,
    last_output_stays: bool = False,
    tail_stays: bool = False,
    recomputes: bool = False,
) -> StackRows:
    """Return rows of full blocks: prompt and output whose KV was computed, one row a request.

    With ``last_token_hits`` the block of a prompt's last token may be reused; without
    ``output_stays`` prompts alone are kept, with ``last_output_stays`` KV of the last output token
    too; with ``tail_stays`` a partial
    last block is freed like any other, else it is taken again first.
    """
    computed = prompts.prompt_tokens + prompts.output_tokens
    if not output_stays:
        computed = prompts.prompt_tokens
    elif not last_output_stays:
        # The first output token comes with the prefill, and the last one is never computed.
        computed = prompts.prompt_tokens + np.maximum(prompts.output_tokens, 1) - 1
    full = computed // block_tokens
    lengths = np.minimum(known_full_blocks(prompts, blocks, block_tokens), full)
    reusable = np.maximum(prompts.prompt_tokens - (not last_token_hits), 0) // block_tokens
    partial = (computed % block_tokens > 0).astype(np.int64)
    return StackRows(
        runs=blocks.runs,
        starts=blocks.runs.offsets[:-1],
        lengths=lengths,
        lookups=np.minimum(lengths, reusable),
        extra=full - lengths + (partial if tail_stays else 0),
        holes=np.zeros_like(partial) if tail_stays else partial,
        key_count=int(blocks.known_before[-1]),
        per_request=1,
        recomputes=recomputes,
    )


def ideal_rows(prompts: PromptBatch, blocks: BlockBatch) -> StackRows:
    """Return two rows a request: its prompt's blocks, then those of prompt and output."""
    if blocks.prompt_tails is None:
        # The rows share their runs: laying them out would cost more than the pass over them.
        runs, known = blocks.runs, np.diff(blocks.key_offsets)
        has_output = np.diff(prompts.offsets) > prompts.prompt_units
        starts = np.repeat(runs.offsets[:-1], 2)
        lengths = _in_turn(
            prompts.prompt_units // blocks.block_units, np.where(has_output, known, 0)
        )
    else:
        paths = request_paths(prompts, blocks)
        runs = runs_of_keys(paths.keys, paths.offsets)
        starts, lengths = runs.offsets[:-1], np.diff(paths.offsets)
    none = np.zeros_like(lengths)
    return StackRows(
        runs=runs,
        starts=starts,
        lengths=lengths,
        lookups=_in_turn(lengths[::2], none[1::2]),
        extra=none,
        holes=none,
        key_count=int(blocks.known_before[-1]),
        per_request=2,
        recomputes=False,
    )


def _in_turn(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return both columns as one of two rows a request."""
    both = np.empty(2 * len(first), np.int64)
    both[::2], both[1::2] = first, second
    return both


def joined_rows(parts: Sequence[StackRows]) -> StackRows:
    """Return the rows of several batches as those of one."""
    if len(parts) == 1:
        return parts[0]
    shifts = np.cumsum([0, *(len(part.runs.ends) for part in parts)])
    return parts[0]._replace(
        runs=joined_runs([p.runs for p in parts]),
        starts=np.concatenate([p.starts + s for p, s in zip(parts, shifts, strict=False)]),
        lengths=np.concatenate([p.lengths for p in parts]),
        key_count=parts[-1].key_count,
        lookups=np.concatenate([p.lookups for p in parts]),
        extra=np.concatenate([p.extra for p in parts]),
        holes=np.concatenate([p.holes for p in parts]),
    )


def keys_of_rows(rows: StackRows) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return all keys, and where each row's begin among them."""
    places = offsets_of(rows.runs.ends.astype(np.int64) - begins_of(rows.runs))
    return keys_of_runs(rows.runs), places[rows.starts]


def lookup_and_leave(
    rows: StackRows,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return keys, starts and ends of two rows a request: what it looks up, what it leaves.

    A row that adds nothing to the one before is empty.
    """
    keys, starts = keys_of_rows(rows)
    ends = starts + rows.lengths
    if rows.per_request == 2:
        return keys, starts, ends
    looked_up = starts + rows.lookups
    return (
        keys,
        np.repeat(starts, 2),
        _in_turn(looked_up, np.where(ends > looked_up, ends, starts)),
    )
