"""vLLM's KV cache manager: one block table a group, one pool, hits that suit every group.

Read from vLLM 0.33.0, ``vllm/v1/core``: ``kv_cache_manager.py`` (allocate_slots) and
``kv_cache_coordinator.py`` (find_longest_cache_hit), unless another file is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kvaudit.replay.models.kv_groups import NULL, Blocks, Cached, GroupKind, KvGroup
from kvaudit.replay.models.paged import UNKNOWN
from kvaudit.replay.models.shared_pool import SharedPool
from kvaudit.replay.models.vllm_releases import FreeOrder, Rules


@dataclass(slots=True)
class Holder:
    """What a request asks for and holds."""

    keys: Sequence[int]
    """Keys of its full blocks of prompt and known output."""
    prompt_tokens: int
    tokens: int
    """Prompt and what was generated so far."""
    computed_tokens: int = 0
    tables: list[list[int]] = field(default_factory=list)
    """Its blocks, in order, one table a group; empty before it is admitted."""
    keyed_blocks: list[int] = field(default_factory=list)
    """How many blocks of each table were looked at for a key."""
    junction: int = 0
    """Where a prefix ends that another request left in some of the groups only; 0 is nowhere."""
    evicted_blocks: int = 0


@dataclass(frozen=True, slots=True)
class Hit:
    """The longest cached prefix that suits every group."""

    tokens: int
    tables: list[list[int]]
    """Its blocks, one list a group."""
    junction: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a model's KV is laid out, and what is kept of it."""

    groups: tuple[KvGroup, ...]
    block_size: int
    eagle: bool = False
    retention_tokens: int | None = None
    """None keeps all that a hit could use."""
    budget: int | None = None
    """The most tokens of a step, for what a window's prompt reserves; None is any number."""

    @property
    def all_full(self) -> bool:
        """Whether all layers look at everything."""
        return all(group.kind is GroupKind.FULL for group in self.groups)

    @property
    def has_states(self) -> bool:
        """Whether some layers keep states in place of KV."""
        return any(group.kind is GroupKind.MAMBA for group in self.groups)


class BlockTables:
    """All block tables of one engine."""

    def __init__(self, pool: SharedPool, layout: Layout, rules: Rules) -> None:
        """Take an empty pool."""
        self.pool = pool
        self.layout = layout
        self.rules = rules
        self._new_states: set[int] = set()  # keys that this step computes
        self._kinds: list[tuple[KvGroup, list[int]]] = []
        for number, group in enumerate(layout.groups):
            same = [members for kind, members in self._kinds if kind == group]
            if same:
                same[0].append(number)
            else:
                self._kinds.append((group, [number]))
        self._kinds.sort(key=lambda kind: kind[0].kind is not GroupKind.FULL)

    def blocks_of(self, tokens: int) -> int:
        """Return how many blocks of one group so many tokens take."""
        return -(-tokens // self.layout.block_size)

    def could_fit(self, tokens: int) -> bool:
        """Whether so many tokens can be admitted at all, all but the last block being hits."""
        size, needed = self.layout.block_size, 0
        hit = max(0, tokens - 1) // size * size
        for group in self.layout.groups:
            skipped = group.skipped_tokens(hit) // size
            needed += max(self._reserved(group, tokens) - skipped, 1 if tokens else 0)
        return needed <= self.pool.capacity_blocks

    def _reserved(self, group: KvGroup, tokens: int) -> int:
        blocks = self.blocks_of(tokens)
        if group.kind is GroupKind.MAMBA and group.mode == "align":
            return min(blocks, 1)
        budget = self.layout.budget
        most = None if budget is None else group.most_blocks(self.layout.block_size, budget)
        return blocks if most is None else min(blocks, most)

    def lookup(self, request: Holder) -> Hit:
        """Return the longest cached prefix. Changes nothing."""
        # kv_cache_manager.py, get_computed_blocks: the last token is computed again.
        limit = max(0, request.tokens - 1)
        size, eagle = self.layout.block_size, self.layout.eagle
        if len(self.layout.groups) == 1:
            ((group, members),) = self._kinds
            cached = self._cached(request, members)
            found = group.longest_hit(cached, limit, size, 1, drop_last=eagle)
            return Hit(len(found) * size, [[b[0] for b in found]])
        return self._common_hit(request, limit)

    def _common_hit(self, request: Holder, limit: int) -> Hit:
        """Shorten the hit kind by kind until it suits all of them."""
        size, rules = self.layout.block_size, self.rules
        first = self._kinds[0][0].kind
        simple = len(self._kinds) == 2 and first is GroupKind.FULL and not rules.shortens_again
        found: dict[int, list[Blocks]] = {}
        dropped: set[int] = set()  # kinds that EAGLE has taken its block from
        length, longest = limit, 0
        while True:
            current = length
            for number, (group, members) in enumerate(self._kinds):
                if group.kind is GroupKind.FULL and number in found:
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
        for number, (group, members) in enumerate(self._kinds):
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
            blocks = [self.pool.find(self._key(request, index, group)) for group in members]
            return None if None in blocks else tuple(b for b in blocks if b is not None)

        return cached

    def _key(self, request: Holder, index: int, group: int) -> int:
        if index >= len(request.keys):
            return UNKNOWN
        return request.keys[index] * len(self.layout.groups) + group

    def allocate(
        self,
        request: Holder,
        tokens: int,
        hit: Hit | None = None,
        *,
        keep_free: int = 0,
        whole_fits: bool = False,
    ) -> bool:
        """Give the request blocks for ``tokens`` more; False where there are too few.

        The blocks that these tokens fill can be hit from now on, before they are computed.
        ``hit`` is given when it is admitted; then ``keep_free`` blocks must be left over, and
        with ``whole_fits`` all of it must fit though only ``tokens`` are to be computed.
        """
        if hit is not None and self._hits_unfinished_state(hit):
            return False
        computed = request.computed_tokens + (hit.tokens if hit else 0)
        end = computed + tokens
        if whole_fits and self._needed(request, request.tokens, computed, hit, reserve=True) > (
            self.pool.free_blocks - keep_free
        ):
            return False
        if not hit:
            self._drop_skipped(request)
        if self._needed(request, end, computed, hit) > self.pool.free_blocks - keep_free:
            return False
        if hit:
            self._take_hit(request, hit)
        for table in request.tables:
            for _ in range(self.blocks_of(end) - len(table)):
                block, evicted = self.pool.pop()
                request.evicted_blocks += evicted
                table.append(block)
        self._key_blocks(request, end)
        return True

    def begin_step(self) -> None:
        """Let the states of the step before be hit."""
        self._new_states.clear()

    def _hits_unfinished_state(self, hit: Hit) -> bool:
        if not self.rules.states_wait:
            return False
        states = [
            table[-1]
            for group, table in zip(self.layout.groups, hit.tables, strict=True)
            if group.kind is GroupKind.MAMBA and table
        ]
        return any(self.pool.key_of(state) in self._new_states for state in states)

    def _needed(
        self, request: Holder, end: int, computed: int, hit: Hit | None, *, reserve: bool = False
    ) -> int:
        """Return the free blocks that a request needs for its tokens up to ``end``."""
        needed = 0
        for number, group in enumerate(self.layout.groups):
            blocks = self._reserved(group, end) if reserve else self.blocks_of(end)
            if hit is None:
                needed += max(blocks - len(request.tables[number]), 0)
                continue
            skipped = self._skipped_hits(group, computed)
            table = hit.tables[number]
            needed += max(blocks - max(skipped, len(table)), 0)
            # Blocks that are hit but held by nobody are taken from the free ones.
            needed += self.pool.unused(table[skipped:])
        return needed

    def _take_hit(self, request: Holder, hit: Hit) -> None:
        request.junction = hit.junction
        request.tables, request.keyed_blocks = [], []
        for number, group in enumerate(self.layout.groups):
            skipped = self._skipped_hits(group, hit.tokens)
            used = hit.tables[number][skipped:]
            self.pool.touch(used)
            request.tables.append([NULL] * skipped + used)
            request.keyed_blocks.append(skipped + len(used))

    def _skipped_hits(self, group: KvGroup, hit_tokens: int) -> int:
        if self.rules.takes_skipped_hits:
            return 0
        return group.skipped_tokens(hit_tokens) // self.layout.block_size

    def _drop_skipped(self, request: Holder) -> None:
        """Give up the blocks that the request's next token does not look at."""
        for number, group in enumerate(self.layout.groups):
            table = request.tables[number]
            end = group.skipped_tokens(request.computed_tokens) // self.layout.block_size
            if group.kind is GroupKind.CHUNKED and self.rules.chunks_kept_longer:
                cached = request.keyed_blocks[number]
                end = min(end, cached - 1) if cached else end
            dropped: list[int] = []
            for index in range(min(end, len(table)) - 1, -1, -1):
                if table[index] == NULL:
                    break
                dropped.append(table[index])
                table[index] = NULL
            self._release(group, dropped)

    def _key_blocks(self, request: Holder, end: int) -> None:
        """Give keys to the blocks that are full now, but for those that no hit could use."""
        full = end // self.layout.block_size
        for number, group in enumerate(self.layout.groups):
            table, start = request.tables[number], request.keyed_blocks[number]
            if start >= full:
                continue
            for index in self._kept(request, group, start, full):
                if table[index] != NULL:
                    key = self._key(request, index, number)
                    self.pool.insert(table[index], key)
                    if group.kind is GroupKind.MAMBA:
                        self._new_states.add(key)
            request.keyed_blocks[number] = full

    def _kept(self, request: Holder, group: KvGroup, start: int, end: int) -> Sequence[int]:
        size, eagle, rules = self.layout.block_size, self.layout.eagle, self.rules
        if not rules.retention:
            return range(start, end)
        boundaries = [request.prompt_tokens - 1]
        if eagle and rules.both_replays:
            # A repetition of the prompt, and a longer prompt, each end a block before that.
            ends = (request.prompt_tokens - 1, request.prompt_tokens)
            boundaries = [max(last // size * size - size, 0) for last in ends]
        if rules.junctions and request.junction:
            boundaries.append(request.junction)
            if eagle and rules.eagle_junctions:
                boundaries.append(request.junction - size)
        return group.kept_blocks(
            start,
            end,
            size,
            retention_tokens=self.layout.retention_tokens,
            boundaries=boundaries,
            eagle=eagle and group.kind is not GroupKind.MAMBA,
        )

    def release(self, request: Holder) -> None:
        """Take all blocks from a request, group by group, each table from its end."""
        for group, table in zip(self.layout.groups, request.tables, strict=False):
            self._release(group, table[::-1])
        request.tables, request.keyed_blocks = [], []
        request.computed_tokens = 0

    def _release(self, group: KvGroup, blocks: Sequence[int]) -> None:
        first = self.rules.unkeyed_windows_first and group.kind is GroupKind.SLIDING
        to_head = self.rules.free_order is FreeOrder.UNKEYED_TO_HEAD
        self.pool.release(blocks, unkeyed_first=first or to_head)
