"""Tiers below an engine's own cache: host memory, disk, a remote store, block by block.

Written from what the offloading layers have in common: vLLM 0.33.0 ``vllm/v1/kv_offload`` (lookup
after the local blocks, recency of all of a prompt's blocks from the last to the first, oldest
block out), LMCache 0.5.6 (every tier is written at once) and SGLang 0.5.23 HiCache (write-through,
write-back, write-through-selective). Blocks are evicted one by one, least recently used first,
whatever continues them. No tier is ever busy, and no copy is late.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

OFFERS = 2
"""Requests that must have had a block before ``write-through-selective`` stores it: HiCache's
``write_through_threshold`` under that policy."""


class WritePolicy(StrEnum):
    """When a block is copied into a lower tier."""

    THROUGH = "write-through"
    """When it was computed."""
    SELECTIVE = "write-through-selective"
    """When it was computed or found by the second request that has it."""
    BACK = "write-back"
    """When the tier above drops it."""


class Visit(NamedTuple):
    """What one request did to the lower tiers, by tier."""

    hit_blocks: list[int]
    stored_blocks: list[int]


class Visits(NamedTuple):
    """What a batch's requests did to them; arrays of shape (tiers, requests)."""

    hit_blocks: NDArray[np.int64]
    stored_blocks: NDArray[np.int64]


class Asked(NamedTuple):
    """What a batch asks of the lower tiers, by request but for the first."""

    keys: NDArray[np.int32]
    starts: NDArray[np.int64]
    """Where each request's keys begin."""
    hits: NDArray[np.int64]
    """Blocks that the first tier had."""
    usable: NDArray[np.int64]
    """Blocks that may hit at all."""
    kept: NDArray[np.int64]
    """Blocks that are copied into lower tiers."""
    admitted: NDArray[np.bool_]


class TierState(NamedTuple):
    """What is to be told of a tier."""

    capacity_blocks: int | None
    peak_blocks: int
    """The most blocks it ever held."""
    unreachable_blocks: int | None = None
    """Blocks that no prompt can reach; None where that is not followed."""


class Sized(Protocol):
    """A tier, or what is to be told of it."""

    @property
    def capacity_blocks(self) -> int | None:
        """How many blocks it can hold; None is unbounded."""
        ...

    @property
    def peak_blocks(self) -> int:
        """The most blocks it ever held."""
        ...


class Lower(Protocol):
    """The tiers below the first one, the fastest first."""

    @property
    def policy(self) -> WritePolicy:
        """When blocks are copied down."""
        ...

    @property
    def tiers(self) -> Sequence[Sized]:
        """Each tier, or what is to be told of it."""
        ...

    def serve_all(self, asked: Asked, dropped: Sequence[Sequence[int]] = ()) -> Visits:
        """Serve a batch's requests one after the other.

        ``dropped`` are the keys that the first tier evicted for each, under write-back.
        """
        ...


class Tier:
    """One place for blocks; ``capacity_blocks`` None never evicts."""

    def __init__(self, capacity_blocks: int | None) -> None:
        """Start empty."""
        self.capacity_blocks = capacity_blocks
        self.peak_blocks = 0
        self.held: OrderedDict[int, None] = OrderedDict()  # the oldest first

    def touch(self, path: Sequence[int]) -> None:
        """Make what is held of a path the youngest, its first block youngest of all."""
        for key in reversed(path):
            if key in self.held:
                self.held.move_to_end(key)

    def put(self, keys: Iterable[int], spared: Collection[int] = ()) -> tuple[int, list[int]]:
        """Hold the keys; return how many were new, and what was evicted for them, oldest first.

        Where only ``spared`` blocks are left to evict, the rest is not stored.
        """
        stored = 0
        evicted: list[int] = []
        for key in keys:
            if key in self.held:
                self.held.move_to_end(key)
                continue
            if len(self.held) == self.capacity_blocks:
                oldest = next((k for k in self.held if k not in spared), None)
                if oldest is None:
                    break
                del self.held[oldest]
                evicted.append(oldest)
            self.held[key] = None
            stored += 1
        self.peak_blocks = max(self.peak_blocks, len(self.held))
        return stored, evicted


class LowerTiers:
    """The tiers below the first one, the fastest first."""

    def __init__(
        self, capacities: Sequence[int | None], *, policy: WritePolicy, exclusive: bool = False
    ) -> None:
        """Take sizes in blocks; ``exclusive`` moves a block that is read up, and keeps no copy."""
        self.tiers = [Tier(capacity) for capacity in capacities]
        self.policy = policy
        self.exclusive = exclusive
        self._offers: Counter[int] = Counter()
        self._next_unknown = -1

    def serve_all(self, asked: Asked, dropped: Sequence[Sequence[int]] = ()) -> Visits:
        """Serve a batch's requests one after the other."""
        shape = len(self.tiers), len(asked.hits)
        visits = Visits(np.zeros(shape, np.int64), np.zeros(shape, np.int64))
        keys, starts = asked.keys.tolist(), asked.starts.tolist()
        for i in np.flatnonzero(asked.admitted).tolist():
            usable, kept = int(asked.usable[i]), int(asked.kept[i])
            visit = self.serve(
                keys[starts[i] : starts[i] + max(usable, kept)],
                hits=int(asked.hits[i]),
                usable=usable,
                kept=kept,
                dropped=dropped[i] if dropped else (),
            )
            visits.hit_blocks[:, i], visits.stored_blocks[:, i] = visit
        return visits

    def serve(
        self,
        path: Sequence[int],
        *,
        hits: int,
        usable: int,
        kept: int,
        dropped: Sequence[int] = (),
    ) -> Visit:
        """Look up what follows ``hits`` blocks of the first tier, and store what is due.

        ``usable`` blocks of the path may hit, ``kept`` are copied into lower tiers; ``dropped``
        are the keys that the first tier evicted for the request, in order.
        """
        found: list[list[int]] = [[] for _ in self.tiers]
        for key in path[hits:usable]:
            holder = next((n for n, tier in enumerate(self.tiers) if key in tier.held), None)
            if holder is None:
                break
            found[holder].append(key)
        stored = (
            self._write_back(found, dropped)
            if self.policy is WritePolicy.BACK
            else self._write_through(path[:kept])
        )
        return Visit([len(keys) for keys in found], stored)

    def _write_through(self, path: Sequence[int]) -> list[int]:
        due = path
        if self.policy is WritePolicy.SELECTIVE:
            self._offers.update(path)
            due = [key for key in path if self._offers[key] >= OFFERS]
        own = set(path)
        stored = []
        for tier in self.tiers:
            tier.touch(path)
            new, _ = tier.put((key for key in due if key not in tier.held), own)
            stored.append(new)
        return stored

    def _write_back(self, found: Sequence[Sequence[int]], dropped: Sequence[int]) -> list[int]:
        for tier, keys in zip(self.tiers, found, strict=True):
            if self.exclusive:
                for key in keys:
                    del tier.held[key]
            else:
                tier.touch(keys)
        # Blocks of unknown text are copied like any other, and never hit.
        coming: Sequence[int] = [key if key >= 0 else self._unknown() for key in dropped]
        stored = []
        for tier in self.tiers:
            new, coming = tier.put(coming)
            stored.append(new)
        return stored

    def _unknown(self) -> int:
        self._next_unknown -= 1
        return self._next_unknown


def spare_last_token(tokens: NDArray[np.int64], prompt_tokens: NDArray[np.int64]) -> None:
    """Take a token from the last tier of a prompt that is held to its end: it is computed."""
    for i in np.flatnonzero((tokens.sum(axis=0) == prompt_tokens) & (prompt_tokens > 0)).tolist():
        tokens[np.flatnonzero(tokens[:, i])[-1], i] -= 1
