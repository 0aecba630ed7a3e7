"""vLLM's pool: reference, kernel and a literal transcription of the rules agree."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_logs import Line, batch, halves, logs, retries

from kvaudit.core.errors import UsageError
from kvaudit.replay.caches import make_interner
from kvaudit.replay.kernels.paged import CompiledVllmPool
from kvaudit.replay.models.paged import VllmPool
from kvaudit.replay.models.vllm_releases import FreeOrder, free_order

POOLS = {"reference": VllmPool, "kernel": CompiledVllmPool}


def replayed(pool, lines: Sequence[Line]) -> list[tuple[int, ...]]:
    """Hits in tokens, admitted, evicted and held blocks of each request; then the peak."""
    interner = make_interner(block_units=pool.block_size, small=True)
    rows: list[tuple[int, ...]] = []
    for part in halves(lines):
        prompts = batch(part)
        out = pool.replay(prompts, interner.intern(prompts))
        assert (out.hit_blocks * pool.block_size == out.cached_tokens).all()
        columns = (out.cached_tokens, out.admitted, out.evicted_blocks, out.held_blocks)
        rows += zip(*(column.tolist() for column in columns), strict=True)
    return [*rows, (out.peak_blocks,)]


class Block:
    """A physical block: what text its KV is for, or None."""

    text: object = None


def by_the_rules(
    lines: Sequence[Line], capacity: int, size: int, order: FreeOrder, eagle: bool
) -> list[tuple[int, ...]]:
    """Step by step, token by token, with one plain list as the free queue, head first."""
    free = [Block() for _ in range(capacity)]
    everything = list(free)
    cached: dict[object, list[Block]] = {}
    rows: list[tuple[int, ...]] = []
    peak = 0
    for number, line in enumerate(lines):
        unknown = [(number, n) for n in range(line.unknown)]
        tokens = [*line.prompt, *line.output, *unknown]
        prompt, end = len(line.prompt), max(len(tokens), len(line.prompt) + 1)
        texts = [(line.namespace, tuple(tokens[:n])) for n in range(size, len(tokens) + 1, size)]
        if -(-prompt // size) > capacity:
            rows.append((0, False, 0, sum(b.text is not None for b in everything)))
            continue
        table: list[Block] = []
        for text in texts[: max(0, prompt - 1) // size]:
            if not cached.get(text):
                break
            table.append(cached[text][0])
        if eagle:
            table = table[:-1]
        hits = len(table)
        free = [block for block in free if block not in table]
        evicted = 0
        computed = 0
        for target in [prompt, *range(prompt + 1, end)]:  # the prefill, then each decode step
            while len(table) * size < target and free:
                block = free.pop(0)
                if block.text is not None:
                    cached[block.text].remove(block)
                    block.text = None
                    evicted += 1
                table.append(block)
            if len(table) * size < target:
                break
            for n in range(max(hits, computed // size), target // size):
                table[n].text = texts[n]
                cached.setdefault(texts[n], []).append(table[n])
            computed = target
            peak = max(peak, sum(b.text is not None or b in table for b in everything))
        keyed = [block for block in reversed(table) if block.text is not None]
        unkeyed = [block for block in reversed(table) if block.text is None]
        if order is FreeOrder.UNKEYED_TO_HEAD:
            free = [*unkeyed, *free, *keyed]
        else:
            free = [*free, *reversed(table)]
        rows.append((hits * size, True, evicted, sum(b.text is not None for b in everything)))
    return [*rows, (peak,)]


@settings(max_examples=1000)
@given(
    lines=logs() | retries(),
    size=st.integers(1, 3),
    capacity=st.integers(1, 11),
    order=st.sampled_from(FreeOrder),
    eagle=st.booleans(),
)
def test_reference_and_kernel_follow_the_rules(lines, size, capacity, order, eagle):
    expected = by_the_rules(lines, capacity, size, order, eagle)
    for pool in POOLS.values():
        model = pool(capacity_blocks=capacity, block_size=size, free_order=order, eagle=eagle)
        assert replayed(model, lines) == expected


@settings(max_examples=300)
@given(
    lines=logs(12), size=st.integers(1, 3), order=st.sampled_from(FreeOrder), eagle=st.booleans()
)
def test_without_a_capacity_nothing_is_evicted(lines, size, order, eagle):
    # Twelve requests of at most 25 tokens can never fill this pool.
    expected = by_the_rules(lines, 300, size, order, eagle)
    for pool in POOLS.values():
        model = pool(capacity_blocks=None, block_size=size, free_order=order, eagle=eagle)
        assert replayed(model, lines) == expected


@pytest.mark.parametrize("pool", POOLS.values(), ids=POOLS)
@pytest.mark.parametrize("order", FreeOrder)
class TestRules:
    def replay(self, pool, order, *lines: Line, capacity=None, size=2):
        model = pool(capacity_blocks=capacity, block_size=size, free_order=order)
        return replayed(model, lines)[:-1]

    def test_a_cached_prompt_loses_the_block_of_its_last_token(self, pool, order):
        rows = self.replay(pool, order, Line((1, 2, 3, 4)), Line((1, 2, 3, 4)))
        assert [row[0] for row in rows] == [0, 2]

    def test_the_last_generated_token_is_never_computed(self, pool, order):
        rows = self.replay(pool, order, Line((1, 2), (3, 4)), Line((1, 2, 3, 4, 5)))
        assert rows[1][0] == 2
        rows = self.replay(pool, order, Line((1, 2), (3, 4, 5)), Line((1, 2, 3, 4, 5)))
        assert rows[1][0] == 4

    def test_a_prompt_that_does_not_fit_caches_nothing(self, pool, order):
        rows = self.replay(
            pool, order, Line((1, 2)), Line((1, 2, 3, 4, 5, 6, 7)), Line((1, 2, 9)), capacity=3
        )
        assert rows == [(0, True, 0, 1), (0, False, 0, 1), (2, True, 0, 1)]

    def test_a_decode_that_does_not_fit_ends_with_the_pool(self, pool, order):
        rows = self.replay(
            pool, order, Line((1, 2, 3), (4, 5, 6, 7)), Line((1, 2, 3, 4)), capacity=2
        )
        assert rows[0] == (0, True, 0, 2)
        assert rows[1][0] == 2


@pytest.mark.parametrize("pool", POOLS.values(), ids=POOLS)
def test_of_equal_blocks_the_oldest_is_used(pool):
    # The prompt (1,) is computed three times. (1, 4) then uses the first of the three blocks,
    # which is thereby spared, so that two evictions later a copy is gone and not (2, 3).
    prompts = [(1,), (2, 3), (1,), (1,), (1, 4), (1,), (2, 3)]
    model = pool(capacity_blocks=5, block_size=1, free_order=FreeOrder.UNKEYED_TO_HEAD)
    rows = replayed(model, [Line(prompt) for prompt in prompts])[:-1]
    assert [row[0] for row in rows] == [0, 0, 0, 0, 1, 0, 0]


@pytest.mark.parametrize("pool", POOLS.values(), ids=POOLS)
def test_the_families_differ_in_where_a_partial_block_goes(pool):
    lines = [Line((1, 2, 3)), Line((4,)), Line((5,)), Line((6,)), Line((1, 2, 9))]
    hits = {
        order: replayed(pool(capacity_blocks=3, block_size=2, free_order=order), lines)[4][0]
        for order in FreeOrder
    }
    assert hits == {FreeOrder.UNKEYED_TO_HEAD: 2, FreeOrder.ALL_TO_TAIL: 0}


@pytest.mark.parametrize("pool", POOLS.values(), ids=POOLS)
def test_a_pool_that_can_hold_nothing_is_refused(pool):
    with pytest.raises(UsageError, match="at least one block"):
        pool(capacity_blocks=0, block_size=16, free_order=FreeOrder.ALL_TO_TAIL)
    with pytest.raises(UsageError, match="at least one token"):
        pool(capacity_blocks=1, block_size=0, free_order=FreeOrder.ALL_TO_TAIL)


def test_releases_map_to_families():
    for version in ("0.9.2", "0.11", "0.23.0", "v0.23.1", "0.10.1.1", "0.12.0.post1"):
        assert free_order(version) is FreeOrder.ALL_TO_TAIL
    for version in ("0.24.0", "0.33.0", "0.33.2"):
        assert free_order(version) is FreeOrder.UNKEYED_TO_HEAD


@pytest.mark.parametrize(
    ("version", "nearest"), [("0.8.5", "0.9.2"), ("0.34.0", "0.33.0"), ("1.0", "0.33.0")]
)
def test_other_releases_are_refused_with_the_nearest(version, nearest):
    with pytest.raises(UsageError, match=f"use --engine-version {nearest}"):
        free_order(version)


def test_what_is_no_version_is_refused():
    with pytest.raises(UsageError, match="not a vLLM version"):
        free_order("latest")
