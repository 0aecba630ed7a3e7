"""One log under one engine's rules: its curve in one pass, and replays where that is not exact.

The log is read once. Kept of it are the numbers of its blocks, 4 bytes each, so that it can be
replayed at capacities that are known only once it was read: those of a default grid, those
smaller than a request, and all of them where no single pass is exact.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.batches import concatenate
from kvaudit.replay.blocks import BlockBatch, joined_blocks
from kvaudit.replay.caches import make_interner, make_optimal, make_stack
from kvaudit.replay.curve import CapacityCurve, Ramps, Weights, ramps_of
from kvaudit.replay.curve_rows import joined_rows, lookup_and_leave
from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.ledger import Column
from kvaudit.replay.models.stack import Runs
from kvaudit.replay.outcomes import CacheModel

if TYPE_CHECKING:
    from kvaudit.replay.fleet.plan import FleetPlan

MOST_THREADS = 4
_Answer = TypeVar("_Answer")


class Hits(NamedTuple):
    """What the counted requests hit at one capacity."""

    capacity_blocks: int | None
    hit_tokens: int
    hit_blocks: int
    not_admitted: int
    replayed: bool
    group_tokens: NDArray[np.int64]
    """Hit tokens by group, shape (groups,)."""


class Counted(NamedTuple):
    """Which requests are counted, and the group of each."""

    first: int
    """The requests before it only fill the cache."""
    groups: NDArray[np.int64]
    """Of every request of the log; shape (requests,)."""
    group_count: int


class CurvePass:
    """Reads a log in batches; answers for any capacity once all of it was read."""

    def __init__(
        self,
        engine: Engine,
        settings: CacheSettings,
        *,
        holds_blocks: bool,
        keeps_units: bool = False,
    ) -> None:
        """Take how the cache is set up; its capacity is not looked at.

        ``keeps_units`` is for what looks at the text of prompts beside their blocks.
        """
        self.engine = engine
        self.settings = replace(settings, capacity_blocks=None)
        self.rules = engine.curve(self.settings)
        self.watch: Callable[[], None] = lambda: None
        """Called after every capacity, for a progress bar."""
        self._fleet: FleetPlan | None = None
        self._holds_blocks = holds_blocks
        self._keeps_units = keeps_units or engine.needs_tokens
        self._interner = make_interner(
            block_units=1 if holds_blocks else settings.block_size,
            tails=engine.keeps_partial(settings) and not holds_blocks,
            small=settings.small,
        )
        self._stack = make_stack(small=settings.small)
        self._log: list[tuple[PromptBatch, BlockBatch]] = []
        self._runs: list[Runs] = []
        self._curves: dict[int, tuple[Ramps, CapacityCurve, CapacityCurve]] = {}
        self._rows_per_request = 1
        self._prompt_tokens, self._blocks, self._block_tokens = Column(), Column(), Column()
        self._shared_tokens = Column()
        self.largest_request_blocks = 1
        self.recomputing_requests = 0
        """Requests that compute a block again that was seen before, and so might be held."""

    def feed(self, batch: PromptBatch) -> None:
        """Read the next batch."""
        blocks = self._interner.intern(batch)
        rows = self.rules.rows(batch, blocks)
        runs = self._stack.feed(rows)
        self._rows_per_request = rows.per_request
        self._runs.append(runs)
        room = rows.lengths + rows.extra + rows.holes
        self.largest_request_blocks = max(self.largest_request_blocks, int(room.max(initial=0)))
        if rows.recomputes:
            self.recomputing_requests += int((runs.seen > rows.lookups).sum())
        size, tokens = self.settings.block_size, batch.prompt_tokens
        self._prompt_tokens.extend(tokens)
        self._blocks.extend(batch.prompt_units if self._holds_blocks else -(-tokens // size))
        self._block_tokens.extend(
            batch.unit_tokens * blocks.block_units
            if self.engine.partial_blocks
            else np.full_like(tokens, size)
        )
        self._shared_tokens.extend(np.minimum(blocks.shared_units * batch.unit_tokens, tokens))
        if not self._keeps_units:
            batch = replace(batch, units=np.empty(0, np.int32))
        self._log.append((batch, blocks))

    def under(self, policy: str) -> CurvePass:
        """Return what was read, under another policy."""
        other = copy(self)
        other.settings = replace(self.settings, policy=policy)
        other.rules = self.engine.curve(other.settings)
        return other

    def behind(self, fleet: FleetPlan) -> CurvePass:
        """Return what was read, served by replicas that each have the capacity."""
        other = copy(self)
        other._fleet = fleet
        return other

    @property
    def log(self) -> Sequence[tuple[PromptBatch, BlockBatch]]:
        """What was read, in batches."""
        return self._log

    @property
    def prompt_tokens(self) -> NDArray[np.int64]:
        """Prompt tokens of every request."""
        return self._prompt_tokens.values()

    @property
    def blocks(self) -> NDArray[np.int64]:
        """Blocks of every prompt, a partial last one counted."""
        return self._blocks.values()

    @property
    def shared_tokens(self) -> NDArray[np.int64]:
        """Tokens of every prompt's longest prefix seen before."""
        return self._shared_tokens.values()

    @property
    def distinct_blocks(self) -> int:
        """Blocks with a key of their own."""
        return int(self._log[-1][1].known_before[-1])

    def is_exact(self, capacity_blocks: int | None) -> bool:
        """Whether one pass gives what a replay at this capacity would."""
        if not self.rules.is_stack or self._fleet is not None:
            return False
        if capacity_blocks is None:
            return True
        # A block that is held twice is used at its older place or its newer one, depending
        # on the capacity; and a request that does not fit is not admitted, or cut.
        return not self.recomputing_requests and capacity_blocks >= self.largest_request_blocks

    def curves(self, first_request: int) -> tuple[Ramps, CapacityCurve, CapacityCurve]:
        """Return the ramps of the counted requests, and their hits in tokens and in blocks.

        Where one pass is not exact they are an estimate.
        """
        if first_request not in self._curves:
            weights = Weights(self._block_tokens.values(), self.prompt_tokens)
            ramps = ramps_of(self._runs, self._rows_per_request, weights, first_request)
            ones = np.ones_like(ramps.blocks)
            self._curves[first_request] = (
                ramps,
                CapacityCurve(ramps.first, ramps.blocks, ramps.tokens),
                CapacityCurve(ramps.first, ramps.blocks, ones),
            )
        return self._curves[first_request]

    def hits(self, capacities: Sequence[int | None], counted: Counted) -> list[Hits]:
        """Return what is hit at each capacity: by the one pass where it is exact."""
        ramps, tokens, blocks = self.curves(counted.first)
        keys, size = counted.groups, counted.group_count

        def one(capacity: int | None) -> Hits:
            if not self.is_exact(capacity):
                return self._replayed(capacity, counted)
            hit_tokens = tokens.at(capacity)
            by_group = np.array([hit_tokens])
            if size > 1:
                by_group = ramps.tokens_by(capacity, keys, size)
            return Hits(capacity, hit_tokens, blocks.at(capacity), 0, False, by_group)

        return self.each(one, capacities)

    def optimal_hits(self, capacities: Sequence[int | None], counted: Counted) -> list[Hits]:
        """Return what is hit at each capacity by a cache that knows the future."""
        _, tokens, blocks = self.curves(counted.first)
        rows = joined_rows([self.rules.rows(*part) for part in self._log])
        optimal = make_optimal(*lookup_and_leave(rows), small=self.settings.small)
        weights, prompts = (
            column[counted.first :] for column in (self._block_tokens.values(), self.prompt_tokens)
        )

        def one(capacity: int | None) -> Hits:
            nothing = np.empty(0, np.int64)
            if capacity is None:
                return Hits(None, tokens.total, blocks.total, 0, False, nothing)
            found = optimal(capacity)[counted.first :]
            hit_tokens = np.minimum(found * weights, prompts)
            return Hits(capacity, int(hit_tokens.sum()), int(found.sum()), 0, True, nothing)

        return self._watched(map(one, capacities))

    def _replayed(self, capacity: int | None, counted: Counted) -> Hits:
        settings = replace(self.settings, capacity_blocks=capacity)
        cache = self._cache(settings)
        log = self._log
        if self.engine.needs_whole_log(settings):
            log = [(concatenate([p for p, _ in log]), joined_blocks([b for _, b in log]))]
        outcomes = [cache.replay(*part) for part in log]
        tokens, blocks, admitted = (
            np.concatenate([getattr(outcome, column) for outcome in outcomes])[counted.first :]
            for column in ("cached_tokens", "hit_blocks", "admitted")
        )
        by_group = np.bincount(
            counted.groups[counted.first :], weights=tokens, minlength=counted.group_count
        )
        return Hits(
            capacity,
            int(tokens.sum()),
            int(blocks.sum()),
            int((~admitted).sum()),
            True,
            by_group.astype(np.int64),
        )

    def _cache(self, settings: CacheSettings) -> CacheModel:
        if self._fleet is None:
            return self.engine.build(settings)
        from kvaudit.replay.fleet.cache import FleetCache

        block_units = self._interner.block_units
        return FleetCache(self._fleet, self.engine, settings, block_units=block_units)

    def each(
        self, one: Callable[[int | None], _Answer], capacities: Sequence[int | None]
    ) -> list[_Answer]:
        """Return one answer a capacity, several at a time where compiled models replay the log."""
        # Compiled models run without the interpreter's lock.
        threads = 1 if self.settings.small else min(MOST_THREADS, os.cpu_count() or 1)
        if threads == 1 or all(map(self.is_exact, capacities)):
            return self._watched(map(one, capacities))
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(threads) as pool:
            return self._watched(pool.map(one, capacities))

    def _watched(self, found: Iterable[_Answer]) -> list[_Answer]:
        answers = []
        for answer in found:
            self.watch()
            answers.append(answer)
        return answers
