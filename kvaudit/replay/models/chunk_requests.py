"""What a request asks of LMCache: the chunks of its prompt, and those that decoding fills.

Read from LMCache 0.5.6, ``lmcache/integration/vllm/vllm_v1_adapter.py``: with
``save_decode_cache`` each step of decoding that fills a chunk stores that chunk, and nothing else
(`ReqMeta.from_request_tracker`). The last generated token is never computed, so nothing holds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.models.chunk_places import Chunk

_FIRST_UNKNOWN = 1 << 40
"""Keys from here on are of chunks with generated tokens that the log does not hold: they take
room, and no prompt can be shown to hit them. No interner gives out as many."""


class ChunkRequest(NamedTuple):
    """One request."""

    chunks: Sequence[Chunk]
    """Of its prompt, in order."""
    prompt_tokens: int
    decoded: Sequence[Chunk] = ()
    """Chunks that end in generated tokens and are stored, in order."""
    own_tokens: int = 0
    """Tokens that the engine's own cache has of the prompt."""

    def tokens_of(self, first: int, counts: Sequence[int]) -> list[int]:
        """Return the tokens that the engine takes of so many chunks of each tier.

        They stand one after the other from ``first`` on; what it has itself it does not take.
        """
        ends = np.cumsum([0, *(chunk.tokens for chunk in self.chunks)])
        reached = np.maximum(ends[first + np.cumsum([0, *counts])], self.own_tokens)
        told: list[int] = np.diff(reached).tolist()
        return told


class Visit(NamedTuple):
    """What one request found and left; lists have one entry a tier."""

    hit_chunks: list[int]
    hit_tokens: list[int]
    written_tokens: list[int]
    """Of the tiers below the CPU's."""
    evicted: int
    """Chunks of CPU memory."""
    cpu_tokens: int
    """Written to CPU memory, read from below or not."""
    first_chunk: int
    """The first chunk that is read; where none is, the first that is stored."""


class ChunkRequests:
    """Cuts requests into chunks; remembers from batch to batch which keys it has made up."""

    def __init__(self, chunk_size: int, *, keeps_partial: bool, saves_decoded: bool) -> None:
        """Take ``save_unfull_chunk`` and ``save_decode_cache``."""
        self.chunk_size = chunk_size
        self.keeps_partial = keeps_partial
        self.saves_decoded = saves_decoded
        self._unknown = count(_FIRST_UNKNOWN)

    def of(self, prompts: PromptBatch, blocks: BlockBatch) -> Iterator[ChunkRequest]:
        """Yield the batch's requests; ``blocks`` are their chunks."""
        size = self.chunk_size
        bounds = blocks.key_offsets.tolist()
        tails = None if blocks.prompt_tails is None else blocks.prompt_tails.tolist()
        outputs = prompts.output_tokens.tolist()
        for i, prompt_tokens in enumerate(prompts.prompt_tokens.tolist()):
            full, rest = divmod(prompt_tokens, size)
            keys = blocks.keys[bounds[i] : bounds[i + 1]].tolist()
            chunks = [Chunk(key, size) for key in keys[:full]]
            if self.keeps_partial and rest and tails is not None:
                chunks.append(Chunk(tails[i], rest))
            decoded: list[Chunk] = []
            if self.saves_decoded:
                computed = prompt_tokens + max(outputs[i], 1) - 1
                ends = range(full, computed // size)
                decoded = [Chunk(self._key(keys, n), size) for n in ends]
            yield ChunkRequest(chunks, prompt_tokens, decoded)

    def _key(self, keys: Sequence[int], number: int) -> int:
        return keys[number] if number < len(keys) else next(self._unknown)
