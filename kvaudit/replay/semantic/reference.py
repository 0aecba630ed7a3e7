"""A semantic cache as its rules read: one request after the other, over a list of entries.

The rules, where caches differ or their pages are silent:

* A lookup sees the entries whose answer was available at its arrival; a twin that is still being
  answered is none, so both are entries later.
* Of a text whose answer is to be kept the first ``sightings - 1`` are not, in each namespace.
* An entry lives ``ttl_s``, or its scenario's own time, from the moment it became available, or from
  its last hit where that renews it, and is gone when that time has passed in full.
* Where the capacity is exceeded, expired entries leave first, then the least recently used, the
  oldest, or the least often hit one (of these the oldest). Becoming an entry counts as a use.
* The exact tier serves the newest live entry of the same text; it asks neither threshold nor guard.
* Of the entries that are near enough the ``top_k`` nearest are asked, the nearest first, of equals
  the oldest; the first that the guard takes is served. Without a guard that is the nearest.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from kvaudit.replay.semantic.serving import NOBODY, Lookups, Rules, Served, similarities_of


@dataclass(slots=True)
class Entry:
    """One answer in the cache."""

    request: int
    expires_s: float
    used: int
    hits: int = 0


class NaiveCache:
    """The entries, and what is on its way to become one."""

    def __init__(self, lookups: Lookups, rules: Rules) -> None:
        """Start empty."""
        self._lookups, self._rules = lookups, rules
        self._lives_s = lookups.lives_s(rules)
        self._pending: list[int] = []
        self._entries: list[Entry] = []
        self._uses = 0
        self._sightings: Counter[tuple[int, int]] = Counter()

    def settle(self, now_s: float) -> None:
        """Make entries of the answers that are available by now, in the order they became so."""
        available = self._lookups.available_s
        ready = sorted((available[j], j) for j in self._pending if available[j] <= now_s)
        self._pending = [j for j in self._pending if available[j] > now_s]
        for at_s, request in ready:
            expires_s = at_s + self._lives_s[request]
            self._uses += 1
            self._entries.append(Entry(request, expires_s, self._uses))
            self._make_room(at_s)
        self._entries = [e for e in self._entries if e.expires_s > now_s]

    def _make_room(self, now_s: float) -> None:
        capacity = self._rules.capacity
        if capacity is None or len(self._entries) <= capacity:
            return
        self._entries = [e for e in self._entries if e.expires_s > now_s]
        if len(self._entries) > capacity:
            self._entries.remove(self._first_out())

    def _first_out(self) -> Entry:
        if self._rules.eviction == "fifo":
            return self._entries[0]
        if self._rules.eviction == "lru":
            return min(self._entries, key=lambda entry: entry.used)
        return min(self._entries, key=lambda entry: entry.hits)  # of equals the oldest

    def look_up(self, request: int) -> tuple[Entry | None, float, bool, bool]:
        """Return the entry that serves it, its similarity, whether exactly, whether vetoed."""
        lookups, rules = self._lookups, self._rules
        cosine = lookups.cosines[request]
        own = [
            e for e in self._entries if lookups.partitions[e.request] == lookups.partitions[request]
        ]
        if rules.exact_tier:
            same = [e for e in own if lookups.folded[e.request] == lookups.folded[request]]
            if same:
                return same[-1], 1.0, True, False
        donors = np.array([lookups.texts[e.request] for e in own], np.int64)
        texts = np.full(len(own), lookups.texts[request])
        similarities = similarities_of(lookups.vectors, donors, texts).tolist()
        near = [(s, e) for s, e in zip(similarities, own, strict=True) if s >= cosine]
        near.sort(key=lambda pair: (-pair[0], pair[1].request))
        for similarity, entry in near[: rules.top_k]:
            if rules.guard is None or rules.guard(entry.request, request):
                return entry, similarity, False, False
        return None, np.nan, False, bool(near)

    def hit(self, entry: Entry, now_s: float) -> None:
        """Count a use of the entry."""
        self._uses += 1
        entry.used, entry.hits = self._uses, entry.hits + 1
        if self._rules.sliding:
            entry.expires_s = now_s + self._lives_s[entry.request]

    def admit(self, request: int) -> None:
        """Remember that its answer will be an entry once it is available, if it is let in."""
        text = self._lookups.partitions[request], self._lookups.texts[request]
        self._sightings[text] += 1
        if self._sightings[text] >= self._rules.sightings:
            self._pending.append(request)


def serve(lookups: Lookups, rules: Rules) -> Served:
    """Serve every request in turn."""
    cache, count = NaiveCache(lookups, rules), len(lookups.arrived_s)
    served = empty(count)
    for i in range(count):
        now_s = float(lookups.arrived_s[i])
        cache.settle(now_s)
        entry, similarity, exact, vetoed = cache.look_up(i)
        served.vetoed[i] = vetoed
        if entry is not None:
            served.donors[i], served.similarities[i] = entry.request, similarity
            served.exact[i] = exact
            cache.hit(entry, now_s)
        if lookups.storable[i] and (entry is None or (rules.always and not exact)):
            cache.admit(i)
    return served


def empty(count: int) -> Served:
    """Return the outcome of requests that all miss."""
    return Served(
        np.full(count, NOBODY, np.int64),
        np.full(count, np.nan),
        np.zeros(count, np.bool_),
        np.zeros(count, np.bool_),
    )
