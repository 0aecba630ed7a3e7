"""Which entries can be served now: availability, lifetime, capacity, and the exact tier's index.

The counterpart of `reference.NaiveCache` with the same rules, but without a walk over all entries.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.semantic.serving import Lookups, Rules


class Lives:
    """The state of every request's answer as an entry."""

    def __init__(self, lookups: Lookups, rules: Rules) -> None:
        """Start with no entry."""
        count = len(lookups.arrived_s)
        self._lookups, self._rules = lookups, rules
        self._live = np.zeros(count, np.bool_)
        self._gone = np.zeros(count, np.bool_)
        """Was an entry, and can never be one again."""
        self._expires_s = np.full(count, np.inf)
        self._hits: dict[int, int] = {}
        self._pending: list[tuple[float, int]] = []
        # Entries by when they were made, and by their last use; the latter orders sliding lives.
        self._made: OrderedDict[int, None] = OrderedDict()
        self._used: OrderedDict[int, None] = OrderedDict()
        self._twins: dict[tuple[int, int], list[int]] = {}

    @property
    def mortal(self) -> bool:
        """Whether entries ever leave."""
        return self._rules.ttl_s is not None or self._rules.capacity is not None

    def admit(self, request: int) -> None:
        """Remember that its answer will be an entry once it is available."""
        heapq.heappush(self._pending, (float(self._lookups.available_s[request]), request))

    def settle(self, now_s: float) -> None:
        """Make entries of the answers that are available by now, in the order they became so."""
        while self._pending and self._pending[0][0] <= now_s:
            at_s, request = heapq.heappop(self._pending)
            self._live[request] = True
            if self._rules.ttl_s is not None:
                self._expires_s[request] = at_s + self._rules.ttl_s
            if self.mortal:
                self._made[request] = self._used[request] = None
                self._make_room(at_s)
            if self._rules.exact_tier and self._live[request]:
                self._twins.setdefault(self._twin_key(request), []).append(request)
        if self._rules.ttl_s is not None:
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
        return min(self._made, key=lambda entry: self._hits.get(entry, 0))

    def _expire(self, now_s: float) -> None:
        """Take away what has expired: by the order of its lives, so that the rest is not asked."""
        by_end = self._used if self._rules.sliding else self._made
        while by_end:
            entry = next(iter(by_end))
            if self._expires_s[entry] > now_s:
                return
            self._remove(entry)

    def _remove(self, entry: int) -> None:
        del self._made[entry], self._used[entry]
        self._live[entry], self._gone[entry] = False, True
        self._hits.pop(entry, None)
        if self._rules.exact_tier:
            twins = self._twins.get(self._twin_key(entry), [])
            if entry in twins:
                twins.remove(entry)

    def _twin_key(self, request: int) -> tuple[int, int]:
        return int(self._lookups.partitions[request]), int(self._lookups.folded[request])

    def twin(self, request: int, now_s: float) -> int | None:
        """Return the newest live entry of the same text and key."""
        twins = self._twins.get(self._twin_key(request))
        return twins[-1] if twins else None

    def are_live(self, requests: NDArray[np.int64], now_s: float) -> NDArray[np.bool_]:
        """Return which of the requests' answers can be served."""
        return self._live[requests]

    def all_dead(self, requests: NDArray[np.int64]) -> bool:
        """Return whether none of them can ever be served again."""
        return bool(self._gone[requests].all())

    def hit(self, entry: int, now_s: float) -> None:
        """Count a use of the entry."""
        if not self.mortal:
            return
        self._used.move_to_end(entry)
        self._hits[entry] = self._hits.get(entry, 0) + 1
        if self._rules.sliding and self._rules.ttl_s is not None:
            self._expires_s[entry] = now_s + self._rules.ttl_s
