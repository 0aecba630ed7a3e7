"""DeepSeek's cache since V4: whole prefix units, kept on disk.

A unit ends where a request's input ends, where its output ends, and where two requests were seen
to part; only a whole unit hits. So the second of two requests with a common head computes it
again, and the third one reads it. Units at fixed intervals of long texts are documented too, but
not how long the intervals are: they are left out.
"""

from __future__ import annotations

import numpy as np

from kvaudit.replay.models.provider_entries import Entries, Leniency, Served, Turn


class PrefixUnits:
    """Units by the key of the prefix that they end."""

    def __init__(self, leniency: Leniency) -> None:
        """Start empty."""
        self._entries = Entries(leniency)
        self._ends = np.zeros(1024, np.bool_)  # by key: whether a unit ends there

    def serve(self, turn: Turn) -> Served:
        """Read the longest unit, then keep those that this request makes."""
        keys, prompt = turn.keys, turn.prompt_tokens
        self._grow(int(keys.max()) + 1)
        ends = np.flatnonzero(self._ends[keys[:prompt]])[::-1] + 1
        read = next(
            (end for end in ends.tolist() if self._entries.readable(self._name(turn, end), turn)),
            0,
        )
        read = read if turn.long_enough(read) else 0
        made = {prompt, len(keys)}
        if turn.shared_tokens > read:
            made.add(turn.shared_tokens)  # where this request parts from all seen before
        for end in made:
            if turn.long_enough(end):
                self._ends[keys[end - 1]] = True
                self._entries.store(self._name(turn, end), turn, turn.lifetime_s)
        too_short = not turn.long_enough(prompt)
        return Served(read, kept_tokens=0 if too_short else prompt, too_short=too_short)

    def _name(self, turn: Turn, end: int) -> tuple[int, int]:
        return turn.variants[0], int(turn.keys[end - 1])

    def _grow(self, size: int) -> None:
        if size > len(self._ends):
            more = max(size, 2 * len(self._ends)) - len(self._ends)
            self._ends = np.concatenate([self._ends, np.zeros(more, np.bool_)])
