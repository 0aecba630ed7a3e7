"""The ideal cache: reference, kernel and a literal transcription of the rules agree."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from replay_logs import Line, batch, halves, logs

from kvaudit.core.errors import UsageError
from kvaudit.replay.caches import make_ideal, make_interner, make_optimal
from kvaudit.replay.curve_rows import ideal_rows, lookup_and_leave
from kvaudit.replay.models.ideal import IdealPolicy, OptimalCache
from kvaudit.replay.outcomes import CacheOutcome

COMPILED = [False, True]


def outcomes(
    lines: Sequence[Line], capacity: int | None, size: int, policy: IdealPolicy, compiled: bool
) -> list[CacheOutcome]:
    interner = make_interner(block_units=size, tails=size > 1, small=not compiled)
    cache = make_ideal(capacity_blocks=capacity, policy=policy, small=not compiled)
    optimal = policy is IdealPolicy.OPTIMAL
    batches = map(batch, [lines] if optimal else halves(lines))
    return [cache.replay(prompts, interner.intern(prompts)) for prompts in batches]


def rows(found: list[CacheOutcome]) -> list[tuple[int, ...]]:
    """Hit tokens, hit, evicted and held blocks of each request; then the peak."""
    columns = [
        np.concatenate([getattr(outcome, name) for outcome in found]).tolist()
        for name in ("cached_tokens", "hit_blocks", "evicted_blocks", "held_blocks")
    ]
    return [*zip(*columns, strict=True), (found[-1].peak_blocks,)]


def paths(line: Line, size: int) -> Iterator[list[object]]:
    """A block is all text up to its end; the prompt's blocks, then those with the output."""
    text = line.prompt + line.output
    for part in (line.prompt, text) if line.output else (line.prompt,):
        ends = [*range(size, len(part), size), len(part)] if part else []
        yield [(line.namespace, part[:end]) for end in ends]


def by_the_rules(
    lines: Sequence[Line], capacity: float, size: int, policy: IdealPolicy
) -> list[tuple[int, ...]]:
    """Every held block with its parent and its age, and a look at all of them to find a victim."""
    parent_of: dict[object, object] = {}
    used: dict[object, int] = {}
    admitted: dict[object, int] = {}
    clock = peak = 0
    found: list[tuple[int, ...]] = []

    def next_use(block: object, now: int) -> float:
        later = (n for n in range(now + 1, len(lines)) if block in next(paths(lines[n], size)))
        return next(later, math.inf)

    for now, line in enumerate(lines):
        evicted = 0
        hits = hit_tokens = 0
        for number, path in enumerate(paths(line, size)):
            spared = set()
            for block in path:
                if block not in parent_of:
                    break
                spared.add(block)
                used[block] = clock = clock + 1
            if number == 0:
                hits = len(spared)
                hit_tokens = min(hits * size, len(line.prompt))
            parent: object = None
            for block in path:
                if block not in parent_of:
                    if len(parent_of) == capacity:
                        leaves = set(parent_of) - set(parent_of.values()) - spared
                        if policy is IdealPolicy.FIFO:
                            victim = min(parent_of, key=admitted.__getitem__)
                        elif not leaves:
                            break
                        elif policy is IdealPolicy.LRU:
                            victim = min(leaves, key=used.__getitem__)
                        else:
                            victim = max(leaves, key=lambda leaf: next_use(leaf, now))
                            if next_use(victim, now) <= next_use(block, now):
                                break
                        del parent_of[victim]
                        evicted += 1
                        if policy is not IdealPolicy.FIFO and victim == parent:
                            break
                    clock += 1
                    parent_of[block], used[block], admitted[block] = parent, clock, clock
                    peak = max(peak, len(parent_of))
                parent = block
        found.append((hit_tokens, hits, evicted, len(parent_of)))
    return [*found, (peak,)]


@settings(max_examples=1000)
@given(
    lines=logs(16),
    size=st.integers(1, 3),
    capacity=st.integers(1, 12),
    policy=st.sampled_from(IdealPolicy),
)
def test_reference_and_kernel_follow_the_rules(lines, size, capacity, policy):
    expected = by_the_rules(lines, capacity, size, policy)
    for compiled in COMPILED:
        assert rows(outcomes(lines, capacity, size, policy, compiled)) == expected


@settings(max_examples=300)
@given(lines=logs(16), size=st.integers(1, 3))
def test_without_a_capacity_it_holds_everything(lines, size):
    expected = by_the_rules(lines, math.inf, size, IdealPolicy.LRU)
    for compiled in COMPILED:
        assert rows(outcomes(lines, None, size, IdealPolicy.LRU, compiled)) == expected


@settings(max_examples=300)
@given(lines=logs(16), capacity=st.integers(1, 12))
def test_no_policy_hits_more_than_the_one_that_knows_the_future(lines, capacity):
    hits = {
        policy: sum(
            int(o.hit_blocks.sum()) for o in outcomes(lines, capacity, 1, policy, compiled=True)
        )
        for policy in IdealPolicy
    }
    assert hits[IdealPolicy.OPTIMAL] == max(hits.values())


@pytest.mark.parametrize("compiled", COMPILED, ids=["reference", "kernel"])
class TestRules:
    def hits(self, lines, capacity, compiled, policy=IdealPolicy.LRU, size=1):
        return [row[0] for row in rows(outcomes(lines, capacity, size, policy, compiled))[:-1]]

    def test_a_whole_prompt_may_hit_and_its_partial_block_too(self, compiled):
        lines = [Line((1, 2, 3)), Line((1, 2, 3)), Line((1, 2, 3, 4))]
        assert self.hits(lines, None, compiled, size=2) == [0, 3, 2]

    def test_known_output_is_kept(self, compiled):
        lines = [Line((1, 2), (3, 4)), Line((1, 2, 3, 4, 5))]
        assert self.hits(lines, None, compiled) == [0, 4]
        assert self.hits(lines, 5, compiled) == [0, 4]

    def test_lru_keeps_the_head_of_a_prompt(self, compiled):
        lines = [Line((1, 2, 3)), Line((4,)), Line((1, 2, 3))]
        assert self.hits(lines, 3, compiled) == [0, 0, 2]

    def test_optimal_does_not_admit_what_is_never_used_again(self, compiled):
        lines = [Line((1, 2, 3)), Line((4,)), Line((1, 2, 3))]
        assert self.hits(lines, 3, compiled, IdealPolicy.OPTIMAL) == [0, 0, 3]

    def test_fifo_drops_the_head_of_a_prompt_first(self, compiled):
        lines = [Line((1, 2, 3)), Line((4,)), Line((1, 2, 3))]
        assert self.hits(lines, 3, compiled, IdealPolicy.FIFO) == [0, 0, 0]

    def test_a_capacity_of_nothing_is_refused(self, compiled):
        with pytest.raises(UsageError, match="at least one block"):
            outcomes([], 0, 1, IdealPolicy.LRU, compiled)


@settings(max_examples=1000)
@given(lines=logs(16), size=st.integers(1, 3), compiled=st.sampled_from(COMPILED))
def test_hits_by_request_are_those_of_the_cache_that_knows_the_future(lines, size, compiled):
    assume(lines)
    prompts = batch(lines)
    blocks = make_interner(block_units=size, tails=size > 1, small=True).intern(prompts)
    hits = make_optimal(*lookup_and_leave(ideal_rows(prompts, blocks)), small=not compiled)
    for capacity in range(1, 16):
        cache = OptimalCache(capacity_blocks=capacity)
        assert hits(capacity).tolist() == cache.replay(prompts, blocks).hit_blocks.tolist()
