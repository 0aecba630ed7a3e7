"""Events that make all KV so far invalid, and reach all, some or no replicas.

A model reload, new weights or another adapter under the old name: what a replica computed before
must not be hit any more. A replica that the event reaches drops all it holds. One that it does
not reach goes on hitting it: such hits are *stale*. What it computes on top of a stale prefix
is of neither state, and hits on that are *inconsistent*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.errors import UsageError
from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.block_marks import UNMARKED, BlockMarks
from kvaudit.replay.blocks import BlockBatch
from kvaudit.replay.ledger import Column
from kvaudit.replay.outcomes import CacheOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Invalidation:
    """One event, as it is asked for."""

    at_request: int | None = None
    """Just before the request of this number, counted from 1."""
    at_s: float | None = None
    """So long after the first arrival; one of the two is None."""
    reach: int | None
    """The first so many replicas; None for all."""
    reason: str


class EventQueue:
    """The events that are still to come; remembers from batch to batch."""

    def __init__(self, events: Sequence[Invalidation]) -> None:
        """Take them in any order."""
        self._waiting = list(events)
        self._requests = 0
        self._first_s: float | None = None
        self._now_s = 0.0
        self.fired: list[tuple[Invalidation, int]] = []
        """Events that came, each with the number of the first request after it."""

    @property
    def missed(self) -> list[Invalidation]:
        """Events after the end of the log so far."""
        return list(self._waiting)

    def cuts(self, prompts: PromptBatch) -> list[tuple[int, Invalidation]]:
        """Return the batch's events, each with the place in it before which it comes."""
        found: list[tuple[int, Invalidation]] = []
        for index, facts in enumerate(prompts.requests):
            self._requests += 1
            if not self._waiting:
                continue
            if facts.arrived_s is not None:
                self._first_s = facts.arrived_s if self._first_s is None else self._first_s
                self._now_s = facts.arrived_s - self._first_s
            for event in [e for e in self._waiting if self._is_due(e)]:
                self._waiting.remove(event)
                self.fired.append((event, self._requests))
                found.append((index, event))
        return found

    def _is_due(self, event: Invalidation) -> bool:
        if event.at_request is not None:
            return event.at_request <= self._requests
        if self._first_s is None:
            raise UsageError(
                "--invalidate at a time needs a log with arrival times, and this one has none; "
                "give the number of a request instead"
            )
        assert event.at_s is not None
        return event.at_s <= self._now_s


class Staleness:
    """What was computed before which event, by replica and block."""

    def __init__(self, block_units: int) -> None:
        """Take the interner's blocks."""
        self._marks = BlockMarks(block_units)
        self.stale, self.inconsistent = Column(), Column()

    def follow(
        self,
        prompts: PromptBatch,
        blocks: BlockBatch,
        outcome: CacheOutcome,
        epochs: NDArray[np.int64],
    ) -> None:
        """Note what is hit; ``epochs`` are the events before each request, counted."""
        stale, inconsistent = np.zeros_like(epochs), np.zeros_like(epochs)
        # A mark is twice the epoch, and one more on top of a prefix that was not clean; all
        # of that plus two, since an unmarked block is none.
        clean = (2 * epochs + 2).tolist()

        def judge(i: int, marks: NDArray[np.int32]) -> int:
            old = (marks < clean[i]) & (marks != UNMARKED)
            tainted = marks == clean[i] + 1
            stale[i] = self._marks.tokens(prompts, outcome, i, old)
            inconsistent[i] = self._marks.tokens(prompts, outcome, i, tainted)
            return int(clean[i] + bool(old.any() or tainted.any()))

        self._marks.follow(prompts, blocks, outcome, judge)
        self.stale.extend(stale)
        self.inconsistent.extend(inconsistent)
