"""The longest cached prefix that suits every group of layers.

Read from vLLM 0.33.0, ``vllm/v1/core/kv_cache_coordinator.py`` (find_longest_cache_hit).
"""

from __future__ import annotations

from collections.abc import Sequence

from kvaudit.replay.models.kv_groups import Blocks, Cached, GroupKind, KvGroup
from kvaudit.replay.models.layout import Hit, Holder, Layout
from kvaudit.replay.models.paged import UNKNOWN
from kvaudit.replay.models.shared_pool import SharedPool
from kvaudit.replay.models.vllm_releases import Rules


class HitSearch:
    """Looks prompts up in a pool."""

    def __init__(self, pool: SharedPool, layout: Layout, rules: Rules) -> None:
        """Take the pool, which is only read."""
        self.pool = pool
        self.layout = layout
        self.rules = rules
        self.kinds: list[tuple[KvGroup, list[int]]] = []
        for number, group in enumerate(layout.groups):
            same = [members for kind, members in self.kinds if kind == group]
            if same:
                same[0].append(number)
            else:
                self.kinds.append((group, [number]))
        self.kinds.sort(key=lambda kind: kind[0].kind is not GroupKind.FULL)

    def lookup(self, request: Holder) -> Hit:
        """Return the longest cached prefix. Changes nothing."""
        # kv_cache_manager.py, get_computed_blocks: the last token is computed again.
        limit = max(0, request.tokens - 1)
        size, eagle = self.layout.block_size, self.layout.eagle
        if len(self.layout.groups) == 1:
            ((group, members),) = self.kinds
            cached = self._cached(request, members)
            found = group.longest_hit(cached, limit, size, 1, drop_last=eagle)
            return Hit(len(found) * size, [[b[0] for b in found]])
        return self._common_hit(request, limit)

    def _common_hit(self, request: Holder, limit: int) -> Hit:
        """Shorten the hit kind by kind until it suits all of them."""
        size, rules = self.layout.block_size, self.rules
        first = self.kinds[0][0].kind
        simple = len(self.kinds) == 2 and first is GroupKind.FULL and not rules.shortens_again
        found: dict[int, list[Blocks]] = {}
        dropped: set[int] = set()  # kinds that EAGLE has taken its block from
        length, longest = limit, 0
        while True:
            current = length
            for number, (group, members) in enumerate(self.kinds):
                if group.kind is GroupKind.FULL and number in found:
                    if not rules.hits_stay_in_full:
                        continue
                    current = min(current, len(found[number]) * size)
                    continue
                drop = self.layout.eagle and not (rules.eagle_drops_once and number in dropped)
                reach = current
                spared = group.kind is GroupKind.MAMBA and rules.eagle_spares_states
                if drop and rules.eagle_drops_once and not spared:
                    # It matches one block more, to drop it.
                    end = request.tokens // size * size if rules.eagle_to_last_block else limit
                    reach = min(current + size, end)
                blocks = group.longest_hit(
                    self._cached(request, members), reach, size, len(members), drop_last=drop
                )
                new = len(blocks) * size
                if drop:
                    dropped.add(number)
                elif new < current:
                    dropped.clear()
                current = new
                found[number] = blocks
                longest = max(longest, current)
            if current >= length:
                break
            length = current
            if simple:
                break
        tables: list[list[int]] = [[] for _ in self.layout.groups]
        for number, (group, members) in enumerate(self.kinds):
            blocks = found[number]
            if group.kind is GroupKind.FULL:
                blocks = blocks[: length // size]
            for place, member in enumerate(members):
                tables[member] = [b[place] for b in blocks]
        return Hit(length, tables, longest if longest > length else 0)

    def _cached(self, request: Holder, members: Sequence[int]) -> Cached:
        known = min(len(request.keys), request.tokens // self.layout.block_size)

        def cached(index: int) -> Blocks | None:
            if index >= known:
                return None
            blocks = [self.pool.find(self.key(request, index, group)) for group in members]
            return None if None in blocks else tuple(b for b in blocks if b is not None)

        return cached

    def key(self, request: Holder, index: int, group: int) -> int:
        """Return the key of a request's block at a place in a group, or `UNKNOWN`."""
        if index >= len(request.keys):
            return UNKNOWN
        return request.keys[index] * len(self.layout.groups) + group
