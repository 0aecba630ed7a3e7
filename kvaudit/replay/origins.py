"""Whose KV a hit is: that of the tenant, or user, whose request computed the block last."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch, RequestFacts
from kvaudit.replay.block_marks import UNMARKED, BlockMarks
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.ledger import Column
from kvaudit.replay.outcomes import CacheOutcome

NOBODY = UNMARKED
"""Stands for a request that does not say whose it is."""


class Origins:
    """Whose every block is, by replica."""

    def __init__(self, block_units: int) -> None:
        """Take the interner's blocks."""
        self._marks = BlockMarks(block_units)
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

        def judge(i: int, owners: NDArray[np.int32]) -> int:
            if parties[i] != NOBODY:
                foreign = (owners != parties[i]) & (owners != NOBODY)
                cross[i] = self._marks.tokens(prompts, outcome, i, foreign)
            return parties[i]

        if self.field is not None:
            self._marks.follow(prompts, blocks, outcome, judge)
        self.parties.extend(np.array(parties, np.int64))
        self.hit_tokens.extend(outcome.cached_tokens)
        self.cross_tokens.extend(cross)

    def _party(self, facts: RequestFacts) -> int:
        if self.field is None:
            self.field = next((f for f in ("tenant", "user") if getattr(facts, f)), None)
        name = None if self.field is None else getattr(facts, self.field)
        return NOBODY if name is None else self._numbers.setdefault(name, len(self._numbers) + 1)
