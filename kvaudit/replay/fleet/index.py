"""Which replica a router believes to hold which block."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence


class PrefixIndex:
    """Blocks by key, each with the set of replicas that were sent it.

    With a capacity every replica keeps its most recently added blocks only.
    """

    def __init__(self, replicas: int, *, capacity_blocks: int | None = None) -> None:
        """Start empty; ``capacity_blocks`` is that of one replica."""
        self.replicas = replicas
        self.capacity_blocks = capacity_blocks
        self._holders: dict[int, int] = {}  # a key's replicas as bits of a number
        self._recent: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(replicas)]

    def overlaps(self, keys: Sequence[int]) -> list[int]:
        """Return how many leading blocks each replica holds, without a gap."""
        found = [0] * self.replicas
        still = (1 << self.replicas) - 1
        depth = 0
        for depth, key in enumerate(keys):
            here = self._holders.get(key, 0) & still
            if here != still:
                _set_each(found, still & ~here, depth)
                still = here
                if not still:
                    return found
        _set_each(found, still, len(keys))
        return found

    def add(self, keys: Iterable[int], replica: int) -> None:
        """Note that a replica was sent these blocks; the last one counts as the most recent."""
        bit = 1 << replica
        holders = self._holders
        if self.capacity_blocks is None:
            for key in keys:
                holders[key] = holders.get(key, 0) | bit
            return
        recent = self._recent[replica]
        for key in keys:
            recent[key] = None
            recent.move_to_end(key)
            holders[key] = holders.get(key, 0) | bit
        while len(recent) > self.capacity_blocks:
            gone, _ = recent.popitem(last=False)
            self.remove(gone, replica)

    def remove(self, key: int, replica: int) -> None:
        """Take one block from a replica that holds it."""
        left = self._holders[key] & ~(1 << replica)
        if left:
            self._holders[key] = left
        else:
            del self._holders[key]

    def forget(self, replica: int) -> None:
        """Take everything from a replica."""
        bit = 1 << replica
        for key in [key for key, bits in self._holders.items() if bits & bit]:
            self.remove(key, replica)
        self._recent[replica].clear()


def _set_each(found: list[int], bits: int, depth: int) -> None:
    while bits:
        lowest = bits & -bits
        found[lowest.bit_length() - 1] = depth
        bits ^= lowest
