"""LMCache's chunk store: what it answered, and its eviction written out."""

import dataclasses
import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_logs import Line, batch, halves, logs, retries

from kvaudit.replay.caches import make_chunk_store, make_interner
from kvaudit.replay.kernels.chunks import CompiledChunkStore
from kvaudit.replay.models.chunks import ChunkStore


def outcomes(log, store, chunk_size):
    interner = make_interner(block_units=chunk_size, small=True)
    for lines in log:
        prompts = batch(lines)
        yield store.replay(prompts, interner.intern(prompts))


def replayed(log, *, chunk_size, policy="lru", capacity=None, compiled=False):
    store = make_chunk_store(
        capacity_chunks=capacity, chunk_size=chunk_size, policy=policy, small=not compiled
    )
    found = outcomes(log, store, chunk_size)
    return [hits for outcome in found for hits in outcome.cached_tokens.tolist()]


@pytest.mark.parametrize("compiled", [False, True], ids=["reference", "kernel"])
def test_the_stores_own_answers(shared_data, compiled):
    golden = shared_data / "golden"
    with gzip.open(golden / "log-a.jsonl.gz", "rt") as lines:
        # Neither adapter nor salt is in its keys.
        log = [Line(tuple(json.loads(line)["token_ids"])) for line in lines]
    recording = golden / "lmcache-0.5.6-a-capacity100-chunk-size64-policyLRU.jsonl"
    answers = [json.loads(line)["cached_tokens"] for line in recording.read_text().splitlines()]
    assert replayed([log], chunk_size=64, capacity=100, compiled=compiled) == answers


@settings(max_examples=150)
@given(logs() | retries(), st.integers(1, 4))
def test_with_room_for_all_it_hits_what_the_definition_says(log, size):
    expected = []
    for i, line in enumerate(log):
        full = len(line.prompt) // size * size
        best = max(
            (
                n
                for n in range(0, full + 1, size)
                for earlier in log[:i]
                if earlier.namespace == line.namespace
                and n <= len(earlier.prompt)
                and earlier.prompt[:n] == line.prompt[:n]
            ),
            default=0,
        )
        expected.append(best - (best == len(line.prompt) > 0))
    assert replayed(halves(log), chunk_size=size) == expected


@settings(max_examples=300)
@given(
    logs() | retries(),
    st.integers(1, 3),
    st.none() | st.integers(1, 12),
    st.sampled_from(["lru", "lfu", "fifo", "mru"]),
)
def test_the_kernel_equals_the_reference(log, size, capacity, policy):
    sizes = {"capacity_chunks": capacity, "chunk_size": size, "policy": policy}
    plain, fast = ChunkStore(**sizes), CompiledChunkStore(**sizes)
    pairs = zip(outcomes(halves(log), plain, size), outcomes(halves(log), fast, size), strict=True)
    for one, other in pairs:
        for field in dataclasses.fields(one):
            values = getattr(one, field.name), getattr(other, field.name)
            assert np.array_equal(*values), field.name
        assert plain.unreachable_blocks() == fast.unreachable_blocks()


# Prompts of one chunk each: a, b, a, c, and then what is left of a, b and c.
ONE_CHUNK = {"a": (1, 1, 9), "b": (2, 2, 9), "c": (3, 3, 9)}


@pytest.mark.parametrize(
    ("policy", "left"), [("lru", "ac"), ("fifo", "bc"), ("mru", "bc"), ("lfu", "ac")]
)
def test_what_is_dropped_for_a_third_chunk(policy, left):
    for probed in "abc":
        log = [Line(ONE_CHUNK[name]) for name in (*"abac", probed)]
        hits = replayed([log], chunk_size=2, policy=policy, capacity=2)
        assert (hits[-1] == 2) == (probed in left)


def test_of_equal_counts_the_older_one_goes():
    log = [Line(ONE_CHUNK[name]) for name in "abcb"]
    assert replayed([log], chunk_size=2, policy="lfu", capacity=2)[-1] == 2
    log = [Line(ONE_CHUNK[name]) for name in "abca"]
    assert replayed([log], chunk_size=2, policy="lfu", capacity=2)[-1] == 0


def test_chunks_behind_a_lost_one_are_out_of_reach():
    long, other = Line((1, 1, 2, 2, 3, 3)), Line((8, 8))
    # The store is full of the long prompt; fifo drops its first chunk for the other prompt.
    hits = replayed([[long, other, long]], chunk_size=2, policy="fifo", capacity=3)
    assert hits == [0, 0, 0]
    store = ChunkStore(capacity_chunks=3, chunk_size=2, policy="fifo")
    assert list(outcomes([[long, other]], store, 2))
    assert store.unreachable_blocks() == 2


def test_room_is_made_before_anything_is_stored():
    # mru would drop what the same prompt stored just before, were it stored by then.
    a, b = Line((1, 1, 2, 2)), Line((3, 3, 4, 4))
    assert replayed([[a, b, b]], chunk_size=2, policy="mru", capacity=3) == [0, 0, 3]


def test_of_a_prompt_longer_than_the_store_the_head_is_stored():
    long = Line((1, 2, 3, 4, 5))
    assert replayed([[Line((9,)), long, long]], chunk_size=1, capacity=3) == [0, 0, 3]
