"""Which entries can be served now: availability, lifetime, capacity, and the exact tier's index.

The counterpart of `reference.NaiveCache` with the same rules, but without a walk over all entries.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from itertools import count
from math import inf

from kvaudit.replay.semantic.serving import Lookups, Rules


class Lives:
    """The state of every request's answer as an entry."""

    def __init__(self, lookups: Lookups, rules: Rules) -> None:
        """Start with no entry."""
        requests = len(lookups.arrived_s)
        self._rules = rules
        self._available_s = lookups.available_s.tolist()
        # What the exact tier takes as one: the text under the key.
        self._same = list(
            zip(lookups.partitions.tolist(), lookups.folded.tolist(), strict=True)
            if rules.exact_tier
            else ()
        )
        self._live = bytearray(requests)
        self._gone = bytearray(requests)
        """Was an entry, and can never be one again."""
        self._lives_s = lookups.lives_s(rules).tolist()
        self._expires: list[tuple[float, int]] = []
        """A heap of ends and entries; an end that was put off stays until it leads."""
        self._expires_s: dict[int, float] = {}
        self._hits: dict[int, int] = {}
        self._by_hits: list[tuple[int, int, int]] = []
        """A heap of hits, number of making and entry; what is no longer so stays until it leads."""
        self._numbers: dict[int, int] = {}
        self._makings = count()
        self._mortal = rules.capacity is not None or min(self._lives_s, default=inf) < inf
        self._pending: list[tuple[float, int]] = []
        # Entries by when they were made, and by their last use.
        self._made: OrderedDict[int, None] = OrderedDict()
        self._used: OrderedDict[int, None] = OrderedDict()
        self._twins: dict[tuple[int, int], list[int]] = {}

    @property
    def alive(self) -> int:
        """How many entries there are and will be, of those that may leave."""
        return len(self._made) + len(self._pending)

    @property
    def mortal(self) -> bool:
        """Whether entries ever leave."""
        return self._mortal

    def admit(self, request: int) -> None:
        """Remember that its answer will be an entry once it is available."""
        heapq.heappush(self._pending, (self._available_s[request], request))

    def settle(self, now_s: float) -> None:
        """Make entries of the answers that are available by now, in the order they became so."""
        while self._pending and self._pending[0][0] <= now_s:
            at_s, request = heapq.heappop(self._pending)
            self._live[request] = True
            self._set_end(request, at_s)
            if self.mortal:
                self._made[request] = self._used[request] = None
                self._count(request)
                self._make_room(at_s)
            if self._rules.exact_tier and self._live[request]:
                self._twins.setdefault(self._same[request], []).append(request)
        self._expire(now_s)

    def _make_room(self, now_s: float) -> None:
        capacity = self._rules.capacity
        if capacity is None or len(self._made) <= capacity:
            return
        self._expire(now_s)
        if len(self._made) > capacity:
            self._remove(self._first_out())

    def _first_out(self) -> int:
        if self._rules.eviction == "lru":
            return next(iter(self._used))
        if self._rules.eviction == "fifo":
            return next(iter(self._made))
        while True:
            hits, _, entry = self._by_hits[0]
            if self._live[entry] and hits == self._hits[entry]:
                return entry
            heapq.heappop(self._by_hits)

    def _count(self, entry: int) -> None:
        """Put a new entry, or one that was hit again, in the order of hits."""
        if self._rules.capacity is None or self._rules.eviction != "lfu":
            return
        if entry not in self._hits:
            self._hits[entry], self._numbers[entry] = -1, next(self._makings)
        self._hits[entry] += 1
        heapq.heappush(self._by_hits, (self._hits[entry], self._numbers[entry], entry))

    def _set_end(self, entry: int, now_s: float) -> None:
        """Let its life begin now."""
        if self._lives_s[entry] < inf:
            self._expires_s[entry] = now_s + self._lives_s[entry]
            heapq.heappush(self._expires, (self._expires_s[entry], entry))

    def _expire(self, now_s: float) -> None:
        """Take away what has expired."""
        while self._expires and self._expires[0][0] <= now_s:
            end_s, entry = heapq.heappop(self._expires)
            if self._live[entry] and self._expires_s[entry] == end_s:
                self._remove(entry)

    def _remove(self, entry: int) -> None:
        del self._made[entry], self._used[entry]
        self._live[entry], self._gone[entry] = False, True
        self._hits.pop(entry, None)
        self._expires_s.pop(entry, None)
        self._numbers.pop(entry, None)
        if self._rules.exact_tier:
            twins = self._twins.get(self._same[entry], [])
            if entry in twins:
                twins.remove(entry)

    def twin(self, request: int) -> int | None:
        """Return the newest live entry of the same text and key."""
        twins = self._twins.get(self._same[request])
        return twins[-1] if twins else None

    def is_live(self, request: int) -> bool:
        """Return whether its answer can be served."""
        return bool(self._live[request])

    def is_gone(self, request: int) -> bool:
        """Return whether its answer can never be served again."""
        return bool(self._gone[request])

    def hit(self, entry: int, now_s: float) -> None:
        """Count a use of the entry."""
        if not self.mortal:
            return
        self._used.move_to_end(entry)
        self._count(entry)
        if self._rules.sliding:
            self._set_end(entry, now_s)
