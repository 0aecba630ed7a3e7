"""Tiers below a cache: their definitions written out, and what holds whatever the log."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_logs import batch, halves, logs, retries

from kvaudit.replay.caches import (
    make_chunk_store,
    make_interner,
    make_sglang,
    make_vllm_pool,
)
from kvaudit.replay.kernels.tiers import CompiledLowerTiers
from kvaudit.replay.models.sglang_releases import NEWEST
from kvaudit.replay.models.tiers import LowerTiers, WritePolicy
from kvaudit.replay.tiers import TieredCache, TierRules

SIZE = 2
PROMPTS_ONLY = TierRules(names=("hbm", "dram", "disk"), whole_prompt=False, keeps_output=False)
ALL_TEXT = dataclasses.replace(PROMPTS_ONLY, keeps_output=True)
WHOLE = dataclasses.replace(PROMPTS_ONLY, whole_prompt=True)

MAKERS = {
    "vllm": (
        PROMPTS_ONLY,
        lambda n: make_vllm_pool(version="0.33.0", capacity_blocks=n, block_size=SIZE, small=True),
    ),
    "sglang": (
        ALL_TEXT,
        lambda n: make_sglang(version=NEWEST, capacity_blocks=n, page_size=SIZE, small=True),
    ),
    "lmcache": (WHOLE, lambda n: make_chunk_store(capacity_chunks=n, chunk_size=SIZE, small=True)),
}
some_logs = (logs() | retries()).map(lambda log: [line for line in log if line.prompt])
sizes = st.none() | st.integers(1, 12)


def replayed(log, cache):
    interner = make_interner(block_units=SIZE, small=True)
    outcomes = []
    for lines in halves(log):
        prompts = batch(lines)
        outcomes.append(cache.replay(prompts, interner.intern(prompts)))
    return outcomes


def hits(log, cache):
    return [n for outcome in replayed(log, cache) for n in outcome.cached_tokens.tolist()]


def tiered(kind, capacity, *lower, policy=WritePolicy.THROUGH, exclusive=False):
    rules, make = MAKERS[kind]
    tiers = LowerTiers(lower, policy=policy, exclusive=exclusive)
    return TieredCache(make(capacity), tiers, rules, SIZE)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(
    ("policy", "exclusive"),
    [(WritePolicy.THROUGH, False), (WritePolicy.BACK, False), (WritePolicy.BACK, True)],
)
@settings(max_examples=60)
@given(log=some_logs, capacity=st.integers(1, 8), second=st.none() | st.integers(1, 3))
def test_an_endless_last_tier_hits_what_an_endless_cache_would(
    kind, policy, exclusive, log, capacity, second
):
    # Prompts alone, so that what the first tier keeps of outputs makes no difference.
    log = [dataclasses.replace(line, output=(), unknown=1) for line in log]
    log = [line for line in log if -(-len(line.prompt) // SIZE) + 2 <= capacity]
    lower = (None,) if second is None else (second, None)
    cache = tiered(kind, capacity, *lower, policy=policy, exclusive=exclusive)
    assert hits(log, cache) == hits(log, MAKERS[kind][1](None))


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("policy", WritePolicy)
@settings(max_examples=60)
@given(log=some_logs, capacity=st.integers(1, 8), second=sizes, third=sizes)
def test_the_first_tier_is_what_it_is_alone_and_the_sums_add_up(
    kind, policy, log, capacity, second, third
):
    cache = tiered(kind, capacity, second, third, policy=policy)
    alone = replayed(log, MAKERS[kind][1](capacity))
    for one, other in zip(replayed(log, cache), alone, strict=True):
        assert np.array_equal(one.evicted_blocks, other.evicted_blocks)
        assert np.array_equal(one.cached_tokens, one.tier_tokens.sum(axis=0))
        first = one.tier_tokens[0]
        assert (first == other.cached_tokens).all()
    for tier, size in zip(cache.lower.tiers, (second, third), strict=True):
        assert size is None or len(tier.held) <= tier.peak_blocks <= size


@pytest.mark.parametrize("policy", [WritePolicy.THROUGH, WritePolicy.SELECTIVE])
@settings(max_examples=150)
@given(log=some_logs, capacity=st.integers(1, 8), second=sizes, third=st.just(0) | sizes)
def test_the_kernel_equals_the_reference(policy, log, capacity, second, third):
    lower = (second,) if third == 0 else (second, third)
    plain = tiered("sglang", capacity, *lower, policy=policy)
    rules, make = MAKERS["sglang"]
    fast = TieredCache(make(capacity), CompiledLowerTiers(lower, policy=policy), rules, SIZE)
    for one, other in zip(replayed(log, plain), replayed(log, fast), strict=True):
        assert np.array_equal(one.tier_tokens, other.tier_tokens)
    for one, other in zip(plain.stored_tokens, fast.stored_tokens, strict=True):
        assert np.array_equal(one.values(), other.values())
    assert [t.peak_blocks for t in plain.lower.tiers] == [t.peak_blocks for t in fast.lower.tiers]


def written_through(paths, capacity):
    """Write the rule out: one list, oldest first, and what each path finds in it."""
    held, found = [], []
    for path in paths:
        n = 0
        while n < len(path) and path[n] in held:
            n += 1
        found.append(n)
        for key in reversed(path):
            if key in held:
                held.remove(key)
                held.append(key)
        for key in path:
            if key in held:
                continue
            if len(held) == capacity:
                others = [k for k in held if k not in path]
                if not others:
                    break
                held.remove(others[0])
            held.append(key)
    return found


keys = st.integers(0, 5)
paths = st.lists(st.lists(keys, max_size=5, unique=True), max_size=12)


@settings(max_examples=200)
@given(paths, st.integers(1, 6))
def test_write_through_is_the_rule_written_out(paths, capacity):
    tiers = LowerTiers([capacity], policy=WritePolicy.THROUGH)
    found = [
        tiers.serve(path, hits=0, usable=len(path), kept=len(path)).hit_blocks[0] for path in paths
    ]
    assert found == written_through(paths, capacity)


@settings(max_examples=100)
@given(log=some_logs, capacity=st.integers(1, 6), second=st.integers(1, 6))
def test_exclusive_tiers_hold_nothing_twice(log, capacity, second):
    cache = tiered("lmcache", capacity, second, 4, policy=WritePolicy.BACK, exclusive=True)
    replayed(log, cache)
    places = [set(cache.first.cpu.held), *(set(tier.held) for tier in cache.lower.tiers)]
    assert sum(map(len, places)) == len(set().union(*places))


def test_a_selective_tier_stores_what_a_second_request_has():
    tiers = LowerTiers([None], policy=WritePolicy.SELECTIVE)
    visits = [
        tiers.serve(path, hits=0, usable=3, kept=3) for path in ([1, 2, 3], [1, 2, 4], [1, 2, 4])
    ]
    assert [v.hit_blocks[0] for v in visits] == [0, 0, 2]
    assert [v.stored_blocks[0] for v in visits] == [0, 2, 1]


def test_a_block_that_stands_in_two_tiers_is_read_from_the_faster_one():
    tiers = LowerTiers([1, None], policy=WritePolicy.THROUGH)
    tiers.serve([1], hits=0, usable=1, kept=1)
    tiers.serve([2], hits=0, usable=1, kept=1)
    assert tiers.serve([2], hits=0, usable=1, kept=1).hit_blocks == [1, 0]
    assert tiers.serve([1], hits=0, usable=1, kept=1).hit_blocks == [0, 1]
