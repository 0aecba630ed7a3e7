"""Pages of pairs of tokens, as SGLang's tree keeps them with EAGLE.

Such a page holds a page of tokens and depends on the token after it (SGLang 0.5.4 to 0.5.23,
``mem_cache/radix_cache.py``, ``convert_to_bigram_key``, later ``RadixKey.is_bigram``), so it is
the same where the block is the same and the next token too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.errors import UsageError
from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.batches import offsets_of
from kvaudit.replay.blocks import BlockBatch, known_full_blocks
from kvaudit.replay.key_runs import KeyRuns, runs_of_keys


class Pages(NamedTuple):
    """The pages of known text of a batch's requests, by request but for the first."""

    runs: KeyRuns
    """Keys are equal where the same page stands after the same text."""
    known: NDArray[np.int64]
    """How many pages there are; there may be keys of more."""


class PairPages:
    """Numbers pages of pairs; grows by about 100 bytes a distinct page of several tokens."""

    def __init__(self, page_size: int) -> None:
        """Take the tokens of a page."""
        self._page_size = page_size
        self._numbers: dict[int, int] = {}
        """By key of a page's tokens and the next one."""

    def number(self, prompts: PromptBatch, blocks: BlockBatch) -> Pages:
        """Return the pages of the next batch.

        Raises `UsageError` where the token after a page is not known.
        """
        if self._page_size == 1:  # the next token's own key tells it and all before
            known = known_full_blocks(prompts, blocks, 1)
            return Pages(_without_first(blocks.runs), np.maximum(known - 1, 0))
        lengths = np.diff(prompts.offsets)
        self._check_tokens(prompts)
        known = np.maximum(lengths - 1, 0) // self._page_size
        starts = offsets_of(known)
        place = np.arange(starts[-1]) - np.repeat(starts[:-1], known)
        after = np.repeat(prompts.offsets[:-1], known) + (place + 1) * self._page_size
        page = blocks.keys[np.repeat(blocks.key_offsets[:-1], known) + place].astype(np.int64)
        codes, inverse = np.unique(page << 32 | prompts.units[after], return_inverse=True)
        numbers = self._numbers
        found = [numbers.setdefault(code, len(numbers)) for code in codes.tolist()]
        keys = np.array(found, np.int32)[inverse]
        return Pages(runs_of_keys(keys, starts), known)

    def _check_tokens(self, prompts: PromptBatch) -> None:
        if (prompts.unit_tokens > 1).any():
            raise UsageError(
                "--eagle with SGLang depends on the token after each page, and a log of block "
                "hashes does not hold it: leave --eagle out"
            )
        if len(prompts.units) < prompts.offsets[-1]:
            raise UsageError(
                "--eagle with SGLang and pages of several tokens depends on the token after each "
                "page, and a sweep keeps no tokens: use --block-size 1, or kvaudit replay for "
                "each capacity"
            )


def _without_first(runs: KeyRuns) -> KeyRuns:
    """Return the runs without the first block of each request."""
    left = runs.ends > 1
    before = np.concatenate([[0], np.cumsum(left)])
    return KeyRuns(
        runs.shifts[left] + np.int32(1), runs.ends[left] - np.int32(1), before[runs.offsets]
    )


def pages_of(
    prompts: PromptBatch, blocks: BlockBatch, page_size: int, pairs: PairPages | None
) -> Pages:
    """Return a batch's pages, of tokens where there are no ``pairs``."""
    if pairs is not None:
        return pairs.number(prompts, blocks)
    known = known_full_blocks(prompts, blocks, page_size)
    return Pages(blocks.runs, known)
