"""vLLM's KV cache manager: one block table a group, one pool, hits that suit every group.

Read from vLLM 0.33.0, ``vllm/v1/core``: ``kv_cache_manager.py`` (allocate_slots) and
``single_type_kv_cache_manager.py``, unless another file is named.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvaudit.replay.models.group_hits import HitSearch
from kvaudit.replay.models.kv_groups import NULL, GroupKind, KvGroup, StateMode
from kvaudit.replay.models.layout import Hit, Holder, Layout
from kvaudit.replay.models.shared_pool import SharedPool
from kvaudit.replay.models.vllm_releases import FreeOrder, Rules


class BlockTables:
    """All block tables of one engine."""

    def __init__(self, pool: SharedPool, layout: Layout, rules: Rules) -> None:
        """Take an empty pool."""
        self.pool = pool
        self.layout = layout
        self.rules = rules
        self._new_states: set[int] = set()  # keys that this step computes
        self._hits = HitSearch(pool, layout, rules)

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
        if group.mode is StateMode.ALIGN:
            return min(blocks, 1)
        budget = self.layout.budget if self.rules.reserves_by_kind else None
        most = None if budget is None else group.most_blocks(self.layout.block_size, budget)
        return blocks if most is None else min(blocks, most)

    def lookup(self, request: Holder) -> Hit:
        """Return the longest cached prefix. Changes nothing."""
        return self._hits.lookup(request)

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
        self._grow(request, self.blocks_of(end))
        self._key_blocks(request, end)
        return True

    def _grow(self, request: Holder, blocks: int) -> None:
        """Take free blocks until each table has so many."""
        for group, table in zip(self.layout.groups, request.tables, strict=True):
            if group.mode is StateMode.ALIGN and blocks > len(table):
                # Only the state at the end of what is computed now is kept.
                request.last_state = len(table) - 1
                table += [NULL] * (blocks - len(table) - 1)
            for _ in range(blocks - len(table)):
                block, evicted = self.pool.pop()
                request.evicted_blocks += evicted
                table.append(block)

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
            if group.mode is StateMode.ALIGN:
                table = hit.tables[number] if hit else request.tables[number]
                needed += self.blocks_of(end) > len(table)
                needed += self.pool.unused(table) if hit else 0
                continue
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
            start = 0
            passes = group.mode is StateMode.ALIGN and self.rules.states_pass_nulls
            if passes:
                start = request.retired
            dropped: list[int] = []
            for index in range(min(end, len(table)) - 1, start - 1, -1):
                if table[index] == NULL and not passes:
                    break
                dropped.append(table[index])
                table[index] = NULL
            self._release(group, dropped)
            last = request.last_state
            ahead = self.blocks_of(request.computed_tokens) - 1
            if group.mode is StateMode.ALIGN and NULL < last < ahead:
                self._release(group, [table[last]])
                table[last] = NULL
        states = max(0, request.computed_tokens - 1) // self.layout.block_size
        request.retired = max(request.retired, states)

    def _key_blocks(self, request: Holder, end: int) -> None:
        """Give keys to the blocks that are full now, but for those that no hit could use."""
        full = end // self.layout.block_size
        for number, group in enumerate(self.layout.groups):
            table, start = request.tables[number], request.keyed_blocks[number]
            if group.mode is StateMode.ALIGN and self.rules.states_wait_again:
                self._hold_back(request, number, end)
            if start >= full:
                continue
            for index in self._kept(request, group, start, full):
                if table[index] != NULL:
                    key = self._hits.key(request, index, number)
                    self.pool.insert(table[index], key)
                    if group.kind is GroupKind.MAMBA:
                        self._new_states.add(key)
            request.keyed_blocks[number] = full

    def _hold_back(self, request: Holder, number: int, end: int) -> None:
        """Let the last state of a prompt that can be hit count as computed by this step, too."""
        size, eagle = self.layout.block_size, self.layout.eagle
        if len(self.layout.groups) > 1 and not eagle:
            end = end // size * size
        last = (request.prompt_tokens - (not eagle)) // size * size - eagle * size
        table, index = request.tables[number], last // size - 1
        if end == last > 0 and table[index] != NULL:
            self._new_states.add(self._hits.key(request, index, number))

    def _kept(self, request: Holder, group: KvGroup, start: int, end: int) -> Sequence[int]:
        size, eagle, rules = self.layout.block_size, self.layout.eagle, self.rules
        if not rules.retention or (group.kind is GroupKind.MAMBA and not rules.sparse_states):
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
        request.computed_tokens = request.retired = 0
        request.last_state = NULL

    def _release(self, group: KvGroup, blocks: Sequence[int]) -> None:
        first = self.rules.unkeyed_windows_first and group.kind is GroupKind.SLIDING
        to_head = self.rules.free_order is FreeOrder.UNKEYED_TO_HEAD
        self.pool.release(blocks, unkeyed_first=first or to_head)
