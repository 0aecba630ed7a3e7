"""The blocks a request asks for and the blocks it leaves, as rows of keys.

For a cache that keeps everything it computes, a partial last block included. Each request
gives two rows: its prompt's blocks, which are looked up and admitted, and then those of
prompt and known output, which are only admitted. The second row is empty where no output is
known. The rows differ at their ends only: a prompt that ends inside a block has a partial
block there, which the output then fills into another one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.batches import offsets_of
from kvaudit.replay.blocks import NO_KEY, BlockBatch


class Paths(NamedTuple):
    """Rows of keys, two a request, prompt first."""

    keys: NDArray[np.int32]
    offsets: NDArray[np.int64]
    """Shape (2 * requests + 1,)."""


def request_paths(prompts: PromptBatch, blocks: BlockBatch) -> Paths:
    """Lay out the rows of a batch; its blocks must carry tails if they hold several units."""
    requests = len(prompts.prompt_units)
    none = np.full(requests, NO_KEY, np.int32)
    has_output = np.diff(prompts.offsets) > prompts.prompt_units
    tails = np.stack(
        [
            none if blocks.prompt_tails is None else blocks.prompt_tails,
            none if blocks.end_tails is None else np.where(has_output, blocks.end_tails, NO_KEY),
        ],
        axis=1,
    ).ravel()
    full = np.stack(
        [
            prompts.prompt_units // blocks.block_units,
            np.where(has_output, np.diff(blocks.key_offsets), 0),
        ],
        axis=1,
    ).ravel()
    lengths = full + (tails != NO_KEY)
    offsets = offsets_of(lengths)
    # Position of every entry within its row, then where its key stands in the batch.
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    is_tail = place == np.repeat(full, lengths)
    source = place + np.repeat(np.repeat(blocks.key_offsets[:-1], 2), lengths)
    keys = np.empty(offsets[-1], np.int32)
    keys[~is_tail] = blocks.keys[source[~is_tail]]
    keys[is_tail] = tails[tails != NO_KEY]
    return Paths(keys, offsets)


def hit_tokens(prompts: PromptBatch, hit_units: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the prompt tokens in the first ``hit_units`` units of each prompt.

    Some logs of block hashes leave out a prompt's partial last block; its tokens never hit.
    """
    tokens: NDArray[np.int64] = np.minimum(hit_units * prompts.unit_tokens, prompts.prompt_tokens)
    return tokens
