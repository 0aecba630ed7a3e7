"""An engine's cache with tiers below it: who holds what a prompt asks for, and what is copied.

What the engine's own cache does is the same with tiers below it as without: one request at a
time, it takes the same room for a block that is read from below as for one that is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.core.quantities import Capacity
from kvaudit.replay.blocks import BlockBatch, known_full_blocks
from kvaudit.replay.ledger import Column
from kvaudit.replay.models.tiers import Asked, Lower, Sized, WritePolicy, spare_last_token
from kvaudit.replay.outcomes import CacheModel, CacheOutcome


class TierKind(StrEnum):
    """What a tier can be said to be, where its place does not say it."""

    LMCACHE = "lmcache"
    """The CPU memory of LMCache, below an engine's own cache."""
    REMOTE = "remote"
    """LMCache's remote store, of which there is one for all instances."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TierPlan:
    """Which tiers stand below the engine's own cache."""

    capacities: tuple[Capacity, ...]
    """The fastest first."""
    kinds: tuple[TierKind | None, ...] = ()
    """What each is said to be; None, or no entry, leaves it to its place."""
    policy: WritePolicy | None = None
    """None leaves it to the engine."""
    exclusive: bool = False
    chunk_size: int | None = None
    """Tokens of LMCache's chunks, and its policy; None leaves both to it."""
    chunk_policy: str | None = None
    bandwidths_gb_s: tuple[float | None, ...] = ()
    """As given, one a tier; None leaves it to the table."""

    @property
    def has_disk(self) -> bool:
        """Whether LMCache's disk is among them, as it is unless a tier is the remote store."""
        first = int(self.is_lmcache)
        return self.kinds[first : first + 1] != (TierKind.REMOTE,)

    @property
    def is_lmcache(self) -> bool:
        """Whether LMCache stands below an engine's own cache."""
        return self.kinds[:1] == (TierKind.LMCACHE,)


@dataclass(frozen=True, slots=True, kw_only=True)
class TierRules:
    """How an engine uses the tiers below its cache."""

    names: tuple[str, str, str]
    """Of its own cache and of the two below it."""
    whole_prompt: bool
    """Whether a prompt may be read to its end, and then has one token computed again."""
    keeps_output: bool
    """Whether generated tokens are copied too, and not only prompts."""
    own_tiers: int = 0
    """How many tiers below it the engine's own model knows, with rules of its own; 0 for none."""
    own_policies: bool = False
    """Whether that model knows every write policy, and not only its own."""
    any_policy: bool = True
    """Whether the tiers can be modelled under a write policy that is named, by rules common to
    all engines."""


@runtime_checkable
class TellsEvictions(CacheModel, Protocol):
    """A cache that can write down which keys it evicts, in order."""

    evicted_keys: list[int] | None
    """None writes nothing down."""


@runtime_checkable
class MovesBlocks(CacheModel, Protocol):
    """A cache with tiers of its own below it, that tells their hits apart."""

    @property
    def moved_tokens(self) -> NDArray[np.int64]:
        """Tokens copied down, shape (tiers, requests of the last batch)."""
        ...

    @property
    def lower_tiers(self) -> Sequence[Sized]:
        """Return what is to be told of each tier below, the fastest first."""
        ...


class TierLedger:
    """What each tier did, request by request; keeps 16 bytes a request and tier."""

    def __init__(self, first: CacheModel, rules: TierRules, block_size: int, lower: int) -> None:
        """Take the engine's own cache, and how many tiers stand below it."""
        self.first = first
        self.rules = rules
        self.block_size = self.lower_block_size = block_size
        """Tokens of a block of the first tier, and of those below it."""
        self.tier_tokens = [Column() for _ in range(1 + lower)]
        """Hit tokens of each tier, by request."""
        self.stored_tokens = [Column() for _ in range(lower)]
        """Tokens copied into each lower tier, by request."""

    @property
    def lower_tiers(self) -> Sequence[Sized]:
        """Return what is to be told of each tier below, the fastest first."""
        raise NotImplementedError

    def remarks(self, counted: slice) -> Iterator[str]:
        """Yield what must be said of the tiers and the counted requests, in sentences."""
        yield from ()

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other."""
        raise NotImplementedError

    def _record(self, tokens: NDArray[np.int64], stored: NDArray[np.int64]) -> None:
        for column, values in zip(self.tier_tokens, tokens, strict=True):
            column.extend(values)
        for column, values in zip(self.stored_tokens, stored, strict=True):
            column.extend(values)


class OwnTiers(TierLedger):
    """A cache whose own model moves blocks to the tiers below it and back."""

    def __init__(
        self,
        first: MovesBlocks,
        rules: TierRules,
        block_size: int,
        *,
        lower_block_size: int | None = None,
        note: str | None = None,
    ) -> None:
        """Take the cache with all its tiers, tokens of their blocks, and what to say of them."""
        super().__init__(first, rules, block_size, len(first.lower_tiers))
        self.lower_block_size = lower_block_size or block_size
        self._moving, self._note = first, note

    def remarks(self, counted: slice) -> Iterator[str]:
        """Yield what must be said of the tiers and the counted requests, in sentences."""
        if self._note is not None:
            yield self._note

    @property
    def lower_tiers(self) -> Sequence[Sized]:
        """Return what is to be told of each tier below, the fastest first."""
        return self._moving.lower_tiers

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other."""
        outcome = self.first.replay(prompts, blocks)
        assert outcome.tier_tokens is not None
        self._record(outcome.tier_tokens, self._moving.moved_tokens)
        return outcome


class TieredCache(TierLedger):
    """A cache with tiers below it, which are told what it hits and what it drops."""

    def __init__(self, first: CacheModel, lower: Lower, rules: TierRules, block_size: int) -> None:
        """Take the engine's own cache and what stands below it."""
        super().__init__(first, rules, block_size, len(lower.tiers))
        self.lower = lower
        if lower.policy is WritePolicy.BACK:
            assert isinstance(first, TellsEvictions)
            first.evicted_keys = []

    @property
    def lower_tiers(self) -> Sequence[Sized]:
        """Return what is to be told of each tier below, the fastest first."""
        return self.lower.tiers

    def replay(self, prompts: PromptBatch, blocks: BlockBatch) -> CacheOutcome:
        """Serve the batch's requests one after the other."""
        outcome = self.first.replay(prompts, blocks)
        asked = self._asked(prompts, blocks, outcome)
        hits, stored = self.lower.serve_all(asked, self._dropped(outcome))
        tokens = np.vstack([outcome.cached_tokens, hits * self.block_size])
        spare_last_token(tokens, prompts.prompt_tokens)
        self._record(tokens, stored * self.block_size)
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
