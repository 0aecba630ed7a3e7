"""The address space of LMCache's CPU memory: first fit, neighbours merged.

Read from LMCache 0.5.6, ``lmcache/v1/memory_management.py`` ``AddressManager``; tokens stand for
bytes, so that its rounding up to 4,096 bytes is left out. Chunks of one size always fit where
there is room for them; partial chunks leave gaps that a full one may not fit into.
"""

from __future__ import annotations

from bisect import bisect_left, insort


class FirstFit:
    """Room for chunks of any size; ``tokens`` None is without a bound."""

    def __init__(self, tokens: int | None) -> None:
        """Start with one gap that is everything."""
        self._gaps: list[tuple[int, int]] | None = None if tokens is None else [(0, tokens)]
        """Start and tokens of each gap, by start."""

    def take(self, tokens: int) -> int | None:
        """Return the start of so much room in the first gap that has it, or None."""
        if self._gaps is None:
            return 0
        for at, (start, room) in enumerate(self._gaps):
            if room >= tokens:
                self._gaps[at : at + 1] = [(start + tokens, room - tokens)] * (room > tokens)
                return start
        return None

    def give(self, start: int, tokens: int) -> None:
        """Take room back."""
        gaps = self._gaps
        if gaps is None:
            return
        at = bisect_left(gaps, (start, 0))
        if at < len(gaps) and start + tokens == gaps[at][0]:
            tokens += gaps.pop(at)[1]
        if at > 0 and sum(gaps[at - 1]) == start:
            start, before = gaps.pop(at - 1)
            tokens += before
        insort(gaps, (start, tokens))
