"""Leaves of a radix tree that may be evicted, the next one first.

A leaf is offered again whenever its rank may have fallen. Entries of the heap that are out of date
are passed over when they come up, so nothing has to be taken out of the middle.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import Generic, TypeVar

Leaf = TypeVar("Leaf")

Rank = tuple[int, int]
"""What is evicted first is what has the smallest."""


class LeafQueue(Generic[Leaf]):
    """The leaves that wait, by rank; those of one rank by when they were offered."""

    def __init__(self, may_go: Callable[[Leaf], bool], rank: Callable[[Leaf], Rank]) -> None:
        """Take which leaves may go just now, and in which order."""
        self._may_go, self._rank = may_go, rank
        self._heap: list[tuple[Rank, int, Leaf]] = []
        self._waits: dict[Leaf, Rank] = {}
        """The smallest rank under which each waits."""
        self._offers = count()

    def offer(self, leaf: Leaf) -> None:
        """Let the leaf wait, if it may go."""
        if not self._may_go(leaf):
            return
        rank = self._rank(leaf)
        if leaf not in self._waits or rank < self._waits[leaf]:
            self._waits[leaf] = rank
            heapq.heappush(self._heap, (rank, next(self._offers), leaf))

    def take(self) -> Leaf | None:
        """Take out the leaf that goes next; None where none may."""
        while self._heap:
            rank, _, leaf = heapq.heappop(self._heap)
            if self._waits.get(leaf) != rank:
                continue  # it waits under another rank, or was taken
            del self._waits[leaf]
            if not self._may_go(leaf):
                continue
            if self._rank(leaf) == rank:
                return leaf
            self.offer(leaf)
        return None
