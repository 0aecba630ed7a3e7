"""The cache models of all replicas, which lose what they hold when an event reaches them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.errors import UsageError
from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.outcomes import Replica

_NEVER_FULL = 2**31 - 1
"""Blocks of an ideal replica without a bound."""


class Clearing(NamedTuple):
    """An event that comes before one of a batch's requests."""

    at: int
    reach: int | None
    """The first so many replicas; None for all."""


class Looked(NamedTuple):
    """What each replica holds for each request, or did with it; arrays are (replicas, requests)."""

    cached_tokens: NDArray[np.int64]
    hit_blocks: NDArray[np.int64]
    admitted: NDArray[np.int64]
    """1 or 0."""
    evicted_blocks: NDArray[np.int64]
    held_blocks: NDArray[np.int64]


class MemberGroup(Protocol):
    """The replicas of a fleet."""

    @property
    def peak_blocks(self) -> int:
        """The sum of the replicas' own peaks."""
        ...

    def grow(self, replicas: int) -> None:
        """Add empty replicas until there are so many."""
        ...

    def serve(
        self,
        prompts: PromptBatch,
        blocks: BlockBatch,
        routes: NDArray[np.int64],
        clearings: Sequence[Clearing] = (),
    ) -> Looked:
        """Serve each request on the replica of its route, and ask all others of it."""
        ...


class Members:
    """Replicas of one engine, all alike."""

    def __init__(self, engine: Engine, settings: CacheSettings) -> None:
        """Start without any."""
        self._engine, self._settings = engine, settings
        self._members: list[Replica] = []
        self._peaks: list[int] = []

    @property
    def peak_blocks(self) -> int:
        """The sum of the replicas' own peaks."""
        return sum(self._peaks)

    def grow(self, replicas: int) -> None:
        """Add empty replicas until there are so many. Raises `UsageError` where none can be."""
        while len(self._members) < replicas:
            self._members.append(self._new_member())
            self._peaks.append(0)

    def _new_member(self) -> Replica:
        settings = self._settings
        if self._engine.name == "ideal" and settings.capacity_blocks is None:
            # Without a bound it only knows what any request of the log brought.
            settings = replace(settings, capacity_blocks=_NEVER_FULL, policy="lru")
        member = self._engine.build(settings)
        if not isinstance(member, Replica):
            raise UsageError(
                f"--instances: --engine {self._engine.name} with --policy {settings.policy} is "
                "modelled as one cache for the whole log; choose another policy or engine"
            )
        return member

    def serve(
        self,
        prompts: PromptBatch,
        blocks: BlockBatch,
        routes: NDArray[np.int64],
        clearings: Sequence[Clearing] = (),
    ) -> Looked:
        """Serve each request on the replica of its route, and ask all others of it.

        ``clearings`` stand in the order of the requests.
        """
        number = np.arange(len(routes))
        pieces = []
        start = 0
        for clearing in (*clearings, Clearing(len(routes), 0)):
            if clearing.at > start:
                here = (number >= start) & (number < clearing.at)
                piece = self._serve(prompts, blocks, routes, here)
                pieces.append(Looked(*(a[:, start : clearing.at] for a in piece)))
                start = clearing.at
            self._clear(clearing.reach)
        return Looked(*(np.concatenate(arrays, axis=1) for arrays in zip(*pieces, strict=True)))

    def _serve(
        self,
        prompts: PromptBatch,
        blocks: BlockBatch,
        routes: NDArray[np.int64],
        here: NDArray[np.bool_],
    ) -> Looked:
        found = []
        for n, member in enumerate(self._members):
            out = member.replay_some(prompts, blocks, (routes == n) & here)
            self._peaks[n] = max(self._peaks[n], out.peak_blocks)
            found.append(
                Looked(
                    out.cached_tokens,
                    out.hit_blocks,
                    out.admitted.astype(np.int64),
                    out.evicted_blocks,
                    out.held_blocks,
                )
            )
        return Looked(*(np.stack(arrays) for arrays in zip(*found, strict=True)))

    def _clear(self, reach: int | None) -> None:
        for n in range(len(self._members) if reach is None else min(reach, len(self._members))):
            self._members[n] = self._new_member()
