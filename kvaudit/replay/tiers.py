"""An engine's cache with tiers below it: who holds what a prompt asks for, and what is copied.

What the engine's own cache does is the same with tiers below it as without: one request at a
time, it takes the same room for a block that is read from below as for one that is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.core.quantities import Capacity
from kvaudit.replay.blocks import BlockBatch, known_full_blocks
from kvaudit.replay.ledger import Column
from kvaudit.replay.models.tiers import Asked, Lower, WritePolicy
from kvaudit.replay.outcomes import CacheModel, CacheOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class TierPlan:
    """Which tiers stand below the engine's own cache."""

    capacities: tuple[Capacity, ...]
    """The fastest first."""
    policy: WritePolicy = WritePolicy.THROUGH
    exclusive: bool = False
    bandwidths_gb_s: tuple[float | None, ...] = ()
    """As given, one a tier; None leaves it to the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TierRules:
    """How an engine uses the tiers below its cache."""

    names: tuple[str, str, str]
    """Of its own cache and of the two below it."""
    whole_prompt: bool
    """Whether a prompt may be read to its end, and then has one token computed again."""
    keeps_output: bool
    """Whether generated tokens are copied too, and not only prompts."""


@runtime_checkable
class TellsEvictions(CacheModel, Protocol):
    """A cache that can write down which keys it evicts, in order."""

    evicted_keys: list[int] | None
    """None writes nothing down."""


class TieredCache:
    """A cache with tiers below it; keeps 16 bytes a request and tier."""

    def __init__(self, first: CacheModel, lower: Lower, rules: TierRules, block_size: int) -> None:
        """Take the engine's own cache and what stands below it."""
        self.first = first
        self.lower = lower
        self.rules = rules
        self.block_size = block_size
        self.tier_tokens = [Column() for _ in range(1 + len(lower.tiers))]
        """Hit tokens of each tier, by request."""
        self.stored_blocks = [Column() for _ in lower.tiers]
        """Blocks copied into each lower tier, by request."""
        self.first_peak_blocks = 0
        if lower.policy is WritePolicy.BACK:
            assert isinstance(first, TellsEvictions)
            first.evicted_keys = []

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other."""
        outcome = self.first.replay(prompts, blocks)
        self.first_peak_blocks = outcome.peak_blocks
        asked = self._asked(prompts, blocks, outcome)
        hits, stored = self.lower.serve_all(asked, self._dropped(outcome))
        tokens = np.vstack([outcome.cached_tokens, hits * self.block_size])
        self._spare_last_token(tokens, prompts.prompt_tokens)
        for column, values in zip(self.tier_tokens, tokens, strict=True):
            column.extend(values)
        for column, values in zip(self.stored_blocks, stored, strict=True):
            column.extend(values)
        return replace(
            outcome,
            cached_tokens=tokens.sum(axis=0),
            hit_blocks=outcome.hit_blocks + hits.sum(axis=0),
            tier_tokens=tokens,
        )

    def _asked(self, prompts: PromptBatch, blocks: BlockBatch, outcome: CacheOutcome) -> Asked:
        """Return what the batch asks of the lower tiers."""
        size = self.block_size
        known = known_full_blocks(prompts, blocks, size)
        usable = prompts.prompt_tokens - (0 if self.rules.whole_prompt else 1)
        kept = known
        if not self.rules.keeps_output:
            kept = np.minimum(prompts.prompt_tokens // size, known)
        return Asked(
            keys=blocks.keys,
            starts=blocks.key_offsets,
            hits=outcome.hit_blocks,
            usable=np.minimum(usable // size, known),
            kept=kept,
            admitted=outcome.admitted,
        )

    def _dropped(self, outcome: CacheOutcome) -> Sequence[Sequence[int]]:
        """Return the keys that the first tier evicted for each request."""
        if self.lower.policy is not WritePolicy.BACK:
            return ()
        assert isinstance(self.first, TellsEvictions)
        told = self.first.evicted_keys or []
        self.first.evicted_keys = []
        ends = [0, *np.cumsum(outcome.evicted_blocks).tolist()]
        assert ends[-1] == len(told)
        return [told[start:end] for start, end in pairwise(ends)]

    def _spare_last_token(
        self, tokens: NDArray[np.int64], prompt_tokens: NDArray[np.int64]
    ) -> None:
        """Take a token from the last tier of a prompt that is found to its end."""
        for i in np.flatnonzero(tokens.sum(axis=0) == prompt_tokens).tolist():
            last = int(np.flatnonzero(tokens[:, i]).max(initial=0))
            tokens[last, i] -= 1
