"""Requests that are sent only to keep a provider's entries alive, on a log's own gaps.

Whoever keeps entries alive cannot know which will be asked for again: each conversation's newest
entry is read once a lifetime until it is used, for an hour at most. Entries on the way to it are
kept by the same request.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import NamedTuple

from kvaudit.replay.models.provider_entries import Served, Turn

HORIZON_S = 3600.0
"""After so long without use an entry is let go."""


class _Leaf(NamedTuple):
    used_s: float
    every_s: float
    tokens: int
    """Tokens that a ping reads, as the log counts them."""
    group: int
    row: int


class Pings:
    """Counts the pings of one log, by group of requests."""

    def __init__(self) -> None:
        """Start with nothing to keep."""
        self._leaves: dict[Hashable, _Leaf] = {}
        self._counted: list[tuple[int, int, int, int]] = []  # row, group, pings, tokens

    def after(
        self, turn: Turn, served: Served, *, every_s: float | None, group: int, row: int
    ) -> None:
        """Take a request that was served, and how long what it stored lives by itself."""
        if turn.now_s is None or every_s is None:
            return
        for length in {served.read_tokens, served.kept_tokens} - {0}:
            leaf = self._leaves.pop(_name(turn, length), None)
            if leaf is not None:
                self._count(leaf, turn.now_s - leaf.used_s, row)
        if served.kept_tokens:
            tokens = round(served.kept_tokens * turn.scale)
            self._leaves[_name(turn, served.kept_tokens)] = _Leaf(
                turn.now_s, every_s, tokens, group, row
            )

    def sums(self, first_row: int) -> tuple[dict[int, int], dict[int, int]]:
        """Return pings and the tokens they read, for requests from ``first_row`` on.

        Those that are sent in vain after the last use in the log are among them. Ends the count.
        """
        for leaf in self._leaves.values():
            self._count(leaf, HORIZON_S, leaf.row)
        self._leaves.clear()
        sent: dict[int, int] = {}
        tokens: dict[int, int] = {}
        for row, group, pings, read in self._counted:
            if row >= first_row:
                sent[group] = sent.get(group, 0) + pings
                tokens[group] = tokens.get(group, 0) + read
        return sent, tokens

    def _count(self, leaf: _Leaf, gap_s: float, row: int) -> None:
        pings = max(math.ceil(min(gap_s, HORIZON_S) / leaf.every_s) - 1, 0)
        if pings:
            self._counted.append((row, leaf.group, pings, pings * leaf.tokens))


def _name(turn: Turn, length: int) -> Hashable:
    return turn.variants, int(turn.keys[length - 1])
