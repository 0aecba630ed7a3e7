"""Whose KV a hit is: follows which request computed every block that a cache holds.

A block is taken to be of the request that computed it last. That differs from the cache only
where a block was computed twice and both are held: a prompt that is held to its very end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch, RequestFacts
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.kernels.growth import grown
from kvaudit.replay.ledger import Column
from kvaudit.replay.outcomes import CacheOutcome

NOBODY = 0
"""Stands for a request that does not say whose it is."""
_ANYONE = -1
"""The row of all replicas together."""


class Origins:
    """Whose every block is, by replica. Grows to 4 bytes a distinct block and replica."""

    def __init__(self, block_units: int) -> None:
        """Take the interner's blocks."""
        self._block_units = block_units
        self._rows: dict[int, NDArray[np.int32]] = {}
        self._numbers: dict[str, int] = {}
        self.field: str | None = None
        """``tenant`` or ``user``: what the first request that says either has."""
        self.parties, self.hit_tokens, self.cross_tokens = Column(), Column(), Column()

    @property
    def known(self) -> int:
        """How many parties were met."""
        return len(self._numbers)

    def follow(self, prompts: PromptBatch, blocks: BlockBatch, outcome: CacheOutcome) -> None:
        """Note who hit what, and who computed what, request after request."""
        parties = [self._party(facts) for facts in prompts.requests]
        cross = np.zeros(len(parties), np.int64)
        if self.field is not None:
            self._follow(prompts, blocks, outcome, parties, cross)
        self.parties.extend(np.array(parties, np.int64))
        self.hit_tokens.extend(outcome.cached_tokens)
        self.cross_tokens.extend(cross)

    def _party(self, facts: RequestFacts) -> int:
        if self.field is None:
            self.field = next((f for f in ("tenant", "user") if getattr(facts, f)), None)
        name = None if self.field is None else getattr(facts, self.field)
        return NOBODY if name is None else self._numbers.setdefault(name, len(self._numbers) + 1)

    def _follow(
        self,
        prompts: PromptBatch,
        blocks: BlockBatch,
        outcome: CacheOutcome,
        parties: list[int],
        cross: NDArray[np.int64],
    ) -> None:
        starts = blocks.key_offsets.tolist()
        sizes = (prompts.unit_tokens * self._block_units).tolist()
        hits, tokens = outcome.hit_blocks.tolist(), outcome.cached_tokens.tolist()
        routed = outcome.routed
        size = int(blocks.keys.max(initial=-1)) + 1
        for i, party in enumerate(parties):
            if not outcome.admitted[i]:
                continue
            keys = blocks.keys[starts[i] : starts[i + 1]]
            hit = min(hits[i], len(keys))
            own = self._row(0 if routed is None else int(routed.replicas[i]), size)
            if routed is not None:
                local, donor = int(routed.local_blocks[i]), int(routed.donors[i])
                if local < hit:
                    fetched = keys[local:hit]
                    own[fetched] = self._row(donor, size)[fetched]
            if party != NOBODY:
                owners = own[keys[:hit]]
                foreign = (owners != party) & (owners != NOBODY)
                count = int(foreign.sum())
                # What is beyond the last known block, a partial one, goes with that block.
                if count and foreign[-1]:
                    cross[i] = tokens[i] - (hit - count) * sizes[i]
                else:
                    cross[i] = count * sizes[i]
            own[keys[hit:]] = party
            if routed is not None:
                self._row(_ANYONE, size)[keys[hit:]] = party

    def _row(self, replica: int, size: int) -> NDArray[np.int32]:
        row = self._rows.get(replica)
        if row is None or len(row) < size:
            row = grown(np.zeros(0, np.int32) if row is None else row, size, fill=NOBODY)
            self._rows[replica] = row
        return row
