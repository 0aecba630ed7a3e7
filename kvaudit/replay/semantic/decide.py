"""One request after the other, given which texts are near: what is served, and what is stored.

The counterpart of `reference` over nodes. A node is a text under a hard key, and may stand for
many entries, all as near as each other; so that what is near is asked of a text once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.semantic.lives import Lives
from kvaudit.replay.semantic.reference import empty
from kvaudit.replay.semantic.search import Near
from kvaudit.replay.semantic.serving import Lookups, Rules, Served


class Nodes:
    """The different texts of each hard key, numbered by first appearance."""

    def __init__(self, lookups: Lookups) -> None:
        """Number them."""
        keys = lookups.partitions.astype(np.int64) * (lookups.texts.max(initial=0) + 1)
        _, first, of = np.unique(keys + lookups.texts, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        self.of: NDArray[np.int64] = rank[of]
        """Node of each request."""
        self.texts: NDArray[np.int64] = lookups.texts[first[order]]
        self.partitions: NDArray[np.int32] = lookups.partitions[first[order]]


class Decider:
    """Serves requests in their order."""

    def __init__(
        self, lookups: Lookups, rules: Rules, nodes: Nodes, all_near: Callable[[int], Near]
    ) -> None:
        """Start empty; ``all_near`` returns every neighbour of a request's text."""
        self._lookups, self._rules, self._all_near = lookups, rules, all_near
        self._node_of = nodes.of.tolist()
        self._cosines = lookups.cosines.tolist()
        self.lives = Lives(lookups, rules)
        self.served: Served = empty(len(lookups.arrived_s))
        self.entries: dict[int, list[int]] = {}
        """Requests whose answers are or will be entries, by node, the oldest first."""
        self._sightings: Counter[int] = Counter()
        self.entered = np.zeros(len(nodes.texts), np.bool_)
        """Which nodes ever had one."""

    def serve(self, i: int, near: Near) -> None:
        """Serve the next request; ``near`` may hold nodes that are no entries, now or ever."""
        rules, lives, served = self._rules, self.lives, self.served
        now_s = float(self._lookups.arrived_s[i])
        lives.settle(now_s)
        if rules.exact_tier and (twin := lives.twin(i)) is not None:
            served.donors[i], served.similarities[i], served.exact[i] = twin, 1.0, True
            lives.hit(twin, now_s)
            return
        hit = False
        found = self._nearest(near, self._cosines[i])
        if len(found) < rules.top_k and not near.complete:
            found = self._nearest(self._all_near(i), self._cosines[i])
        for donor, similarity in found:
            if rules.guard is None or rules.guard(donor, i):
                served.donors[i], served.similarities[i], hit = donor, similarity, True
                lives.hit(donor, now_s)
                break
        served.vetoed[i] = bool(found) and not hit
        if self._lookups.storable[i] and (not hit or rules.always):
            self._admit(i)

    def _admit(self, i: int) -> None:
        node = self._node_of[i]
        self._sightings[node] += 1
        if self._sightings[node] >= self._rules.sightings:
            self.lives.admit(i)
            self.entries.setdefault(node, []).append(i)
            self.entered[node] = True

    def _nearest(self, near: Near, cosine: float) -> list[tuple[int, float]]:
        """Return the nearest entries that can be served, of equals the oldest first."""
        count, found = self._rules.top_k, list[tuple[int, float]]()
        equals: list[int] = []
        nearness = 2.0
        for similarity, node in zip(near.similarities, near.nodes, strict=True):
            if similarity != nearness:
                if equals:
                    found += [(entry, nearness) for entry in sorted(equals)]
                    equals = []
                if similarity < cosine or len(found) >= count:
                    break
                nearness = similarity
            entries = self.entries.get(node)
            if entries:
                equals += self._living(entries, count)
        found += [(entry, nearness) for entry in sorted(equals)]
        return found[:count]

    def _living(self, entries: list[int], count: int) -> list[int]:
        """Return the oldest ones that can be served; forgets those that never can again."""
        lives = self.lives
        while entries and lives.is_gone(entries[0]):
            entries.pop(0)
        living = []
        for entry in entries:
            if lives.is_live(entry):
                living.append(entry)
                if len(living) == count:
                    break
        return living
