"""Prompts to block keys: how much of a prompt was seen before, and a number for each block.

A block is ``block_units`` consecutive units, counted from the start of the prompt. Two
blocks get the same key exactly when they stand after the same text in the same namespace
and hold the same units, which is what an engine's chained hash says, without its odds of a
collision. Keys are dense: 0, 1, 2, ... in the order in which blocks are first seen.

There are two interners with one interface: `kvaudit.replay.models.interner` is the definition
in plain Python, `kvaudit.replay.kernels.radix` the compiled one. They give the same shared
lengths and the same partition of the blocks; the numbers themselves may differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.batches import joined_offsets
from kvaudit.replay.key_runs import KeyRuns, joined_runs, keys_of_runs

NO_KEY = -1
"""Stands for the tail of a request that ends on a block boundary."""


@dataclass(frozen=True, kw_only=True)
class BlockBatch:
    """The blocks of a `PromptBatch`; arrays have one entry a request unless stated."""

    block_units: int
    shared_units: NDArray[np.int64]
    """Longest prefix, in units, that the prompt shares with anything seen earlier in its
    namespace: prompts and known outputs. This is what an unbounded cache could reuse."""
    runs: KeyRuns
    """All full blocks of prompt and known output."""
    key_offsets: NDArray[np.int64]
    """Shape (requests + 1,)."""
    known_before: NDArray[np.int64]
    """Number of keys given out before each request, and after the last; shape
    (requests + 1,). A key is new with a request if it is not less than the entry."""
    new_units: NDArray[np.int64]
    """Units of prompt and known output from the first on that parts from all seen earlier."""
    prompt_tails: NDArray[np.int32] | None
    """Key of the prompt's units after its last full block, `NO_KEY` if there are none. It
    equals only a tail of the same units after the same text. None if not asked for."""
    end_tails: NDArray[np.int32] | None
    """The same for prompt and known output together."""

    @cached_property
    def keys(self) -> NDArray[np.int32]:
        """Keys of all full blocks of prompt and known output, shape (key_offsets[-1],)."""
        return keys_of_runs(self.runs)


class Interner(Protocol):
    """Gives block keys to a log that comes in batches."""

    block_units: int

    def intern(self, prompts: PromptBatch) -> BlockBatch:
        """Number the blocks of the next batch of the log."""
        ...


def known_full_blocks(
    prompts: PromptBatch, blocks: BlockBatch, block_tokens: int
) -> NDArray[np.int64]:
    """Return how many leading keys of each request belong to blocks full of known tokens.

    That is all of them, but for a log of block hashes whose last prompt unit is partial.
    """
    known_units = np.diff(prompts.offsets) - prompts.prompt_units
    known_tokens = prompts.prompt_tokens + known_units * prompts.unit_tokens
    full: NDArray[np.int64] = np.minimum(np.diff(blocks.key_offsets), known_tokens // block_tokens)
    return full


def known_blocks(blocks: BlockBatch) -> NDArray[np.int64]:
    """Return how many full blocks of each request had been seen before it, its output's included.

    A block is seen with all text before it, so these are the request's leading ones.
    """
    requests = len(blocks.key_offsets) - 1
    owner = np.repeat(np.arange(requests), np.diff(blocks.key_offsets))
    known = blocks.keys < blocks.known_before[owner]
    counts: NDArray[np.int64] = np.bincount(owner[known], minlength=requests)
    return counts


def joined_blocks(parts: Sequence[BlockBatch]) -> BlockBatch:
    """Return the blocks of consecutive batches as those of one."""
    if len(parts) == 1:
        return parts[0]
    return BlockBatch(
        block_units=parts[0].block_units,
        shared_units=np.concatenate([p.shared_units for p in parts]),
        runs=joined_runs([p.runs for p in parts]),
        key_offsets=joined_offsets([p.key_offsets for p in parts]),
        known_before=np.concatenate(
            [parts[0].known_before[:1], *(p.known_before[1:] for p in parts)]
        ),
        new_units=np.concatenate([p.new_units for p in parts]),
        prompt_tails=_joined_tails([p.prompt_tails for p in parts]),
        end_tails=_joined_tails([p.end_tails for p in parts]),
    )


def _joined_tails(parts: Sequence[NDArray[np.int32] | None]) -> NDArray[np.int32] | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if known else None
