"""What replicas get of each other's KV: nothing, from a pool, or the common prefix by broadcast.

A pool is the union of what the replicas hold at that moment: KV that any of them has can be
fetched, and counts as moved. A broadcast sends a block to all replicas that lack it once it has
been asked for in so many sessions, and pins it there; the room that takes is not modelled.
Replicas whose block hashes start from different seeds find nothing of each other's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch

RULES = {
    "none": "replicas share nothing",
    "pool": "KV that any replica holds at that moment can be fetched by the others",
    "broadcast": (
        "a block asked for in {after} sessions, a request without one counted as one, is sent "
        "to all replicas that lack it, and kept there beside their capacity"
    ),
}
SEEDS_DIFFER = (
    "; block hashes start from another seed on every replica, so none finds what another stored"
)


class Found(NamedTuple):
    """What sharing gives; one entry a request."""

    tokens: NDArray[np.int64]
    """Hits, the replica's own included."""
    blocks: NDArray[np.int64]
    moved_tokens: NDArray[np.int64]
    donors: NDArray[np.int64]
    """The replica that gave what the request's own did not hold; -1 for any."""


def from_pool(
    local: NDArray[np.int64], found: NDArray[np.int64], blocks: NDArray[np.int64]
) -> Found:
    """Return the longest prefix that any replica holds.

    ``found`` and ``blocks`` have the shape (replicas, requests), ``local`` (requests,).
    """
    donors = found.argmax(axis=0)
    rows = np.arange(len(local))
    tokens = found[donors, rows]
    return Found(tokens, blocks[donors, rows], tokens - local, donors)


class CommonPrefix:
    """The blocks that many sessions begin with; remembers from batch to batch."""

    def __init__(self, sessions: int, block_units: int) -> None:
        """Take in how many sessions a block must be asked for, and a block's units."""
        self._sessions = sessions
        self._block_units = block_units
        self._common: set[int] = set()
        self._asked: dict[int, set[str | int]] = {}
        self._requests = 0
        self.tokens = 0
        """Tokens of the common blocks."""

    def replay(
        self,
        prompts: PromptBatch,
        blocks: BlockBatch,
        routes: NDArray[np.int64],
        found: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return each prompt's tokens that were common before it, and those moved after it.

        ``found``, of the shape (replicas, requests), says who lacks a block that is sent.
        """
        starts = blocks.key_offsets.tolist()
        full = (prompts.prompt_units // self._block_units).tolist()
        sizes = (prompts.unit_tokens * self._block_units).tolist()
        common = np.zeros(len(full), np.int64)
        moved = np.zeros(len(full), np.int64)
        for i, facts in enumerate(prompts.requests):
            keys = blocks.keys[starts[i] : starts[i] + full[i]].tolist()
            known = next((n for n, key in enumerate(keys) if key not in self._common), len(keys))
            common[i] = known * sizes[i]
            session = self._requests if facts.session is None else facts.session
            self._requests += 1
            sent = self._ask(keys[known:], session)
            self.tokens += sent * sizes[i]
            others = np.delete(found[:, i], routes[i])
            for depth in range(known, known + sent):
                moved[i] += int((others < (depth + 1) * sizes[i]).sum()) * sizes[i]
        return common, moved

    def _ask(self, keys: list[int], session: str | int) -> int:
        """Count one more session for the blocks; return how many of them that makes common."""
        sent = 0
        for key in keys:
            asked = self._asked.setdefault(key, set())
            asked.add(session)
            # A block was asked for no more often than the one before it.
            if len(asked) >= self._sessions:
                self._common.add(key)
                del self._asked[key]
                sent += 1
        return sent
