"""LMCache's chunk store: what it answered, and its eviction written out."""

import dataclasses
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_logs import Line, batch, halves, logs, retries

from kvaudit.replay.caches import make_chunk_store, make_interner
from kvaudit.replay.kernels.chunks import CompiledChunkStore
from kvaudit.replay.models.chunks import ChunkStore


def outcomes(log, store, chunk_size):
    interner = make_interner(block_units=chunk_size, tails=True, small=True)
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


ANSWERS = Path(__file__).parent / "lmcache_answers.jsonl"
"""What LMCache's own engine, storage manager and backends answered on random logs of tiny prompts,
driven on a CPU with the model's forward left out; the remote store was a map. A line is one log:
prompts as digits, and the hit tokens of each tier for each."""


@pytest.mark.parametrize("kind", [ChunkStore, CompiledChunkStore], ids=["reference", "kernel"])
@pytest.mark.parametrize("line", ANSWERS.read_text("utf-8").splitlines(), ids=lambda _: "log")
def test_what_all_tiers_answered(line, kind):
    asked = json.loads(line)
    settings = ("chunk_size", "policy", "keeps_partial")
    store = kind(
        capacity_chunks=asked["capacity"],
        lower_chunks=asked["lower"],
        **{name: asked[name] for name in settings},
    )
    log = [Line(tuple(map(int, prompt))) for prompt in asked["prompts"]]
    found = []
    for outcome in outcomes(halves(log), store, asked["chunk_size"]):
        tokens = outcome.tier_tokens
        found += (outcome.cached_tokens[None] if tokens is None else tokens).T.tolist()
    assert found == asked["hits"]


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


capacities = st.none() | st.integers(1, 12)
lower = st.just(()) | st.tuples(capacities) | st.tuples(capacities, capacities)
below = lower.flatmap(
    lambda sizes: st.tuples(st.just(sizes), st.booleans() if len(sizes) == 1 else st.just(True))
)


@settings(max_examples=500)
@given(
    logs() | retries(),
    st.integers(1, 3),
    capacities,
    st.sampled_from(["lru", "lfu", "fifo", "mru"]),
    st.booleans(),
    below,
)
def test_the_kernel_equals_the_reference(log, size, capacity, policy, keeps_partial, below):
    sizes = {"capacity_chunks": capacity, "chunk_size": size, "policy": policy}
    more = {"keeps_partial": keeps_partial, "lower_chunks": below[0], "has_disk": below[1]}
    plain, fast = ChunkStore(**sizes, **more), CompiledChunkStore(**sizes, **more)
    pairs = zip(outcomes(halves(log), plain, size), outcomes(halves(log), fast, size), strict=True)
    for one, other in pairs:
        for field in dataclasses.fields(one):
            values = getattr(one, field.name), getattr(other, field.name)
            assert np.array_equal(*values), field.name
        assert plain.unreachable_blocks() == fast.unreachable_blocks()
        assert np.array_equal(plain.moved_tokens, fast.moved_tokens)
        assert plain.lower_tiers == fast.lower_tiers
        assert plain.stalled_requests == fast.stalled_requests


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


@settings(max_examples=150)
@given(logs() | retries(), st.integers(8, 12), st.integers(1, 4))
def test_an_endless_remote_store_hits_what_an_endless_cpu_tier_would(log, capacity, disk):
    log = [line for line in log if len(line.prompt) <= 2 * capacity]
    store = ChunkStore(
        capacity_chunks=capacity, chunk_size=2, policy="lru", lower_chunks=(disk, None)
    )
    found = [n for o in outcomes([log], store, 2) for n in o.cached_tokens.tolist()]
    assert found == replayed([log], chunk_size=2)


def tier_hits(log, *, capacity, lower, **more):
    store = ChunkStore(
        capacity_chunks=capacity, chunk_size=2, policy="lru", lower_chunks=lower, **more
    )
    (found,) = outcomes([log], store, 2)
    return found.tier_tokens.T.tolist()


def test_a_disk_is_not_told_what_the_cpu_tier_hits():
    a, b, c = (Line(ONE_CHUNK[name]) for name in "abc")
    # a stays in CPU memory all the time, and is the oldest of the disk all the same.
    assert tier_hits([a, b, a, c, a], capacity=2, lower=(2,))[-1] == [2, 0]
    assert tier_hits([a, b, a, c, b, c, a], capacity=2, lower=(2,))[-1] == [0, 0]


def test_what_is_read_from_disk_is_held_in_cpu_memory_after_it():
    a, b = Line(ONE_CHUNK["a"]), Line(ONE_CHUNK["b"])
    assert tier_hits([a, b, a, a], capacity=1, lower=(None,))[2:] == [[0, 2], [2, 0]]


def test_what_is_read_must_fit_into_cpu_memory_at_once():
    long = Line((1, 1, 2, 2, 3, 3, 4, 4, 5, 5))
    store = ChunkStore(capacity_chunks=2, chunk_size=2, policy="lru", lower_chunks=(None,))
    # Two chunks of it are stored at a time, so that the third time four stand on the disk.
    (found,) = outcomes([[long, long, long]], store, 2)
    assert found.tier_tokens.T.tolist() == [[0, 0], [4, 0], [0, 4]]
    assert store.stalled_requests == 1


def test_a_partial_last_chunk_is_stored_and_hits_the_same_prompt_only():
    short, longer = Line((1, 1, 2)), Line((1, 1, 2, 2))
    whole = {"chunk_size": 2, "capacity_chunks": None, "policy": "lru"}
    for kind in ChunkStore, CompiledChunkStore:
        store = kind(**whole, keeps_partial=True)
        found = [o.cached_tokens.tolist() for o in outcomes([[short, short, longer]], store, 2)]
        assert found == [[0, 2, 2]]
        assert store.unreachable_blocks() == 0


def test_after_a_hit_a_rest_shorter_than_a_chunk_is_not_stored():
    first, second = Line((1, 1)), Line((1, 1, 2))
    store = ChunkStore(capacity_chunks=None, chunk_size=2, policy="lru", keeps_partial=True)
    (found,) = outcomes([[first, second, second]], store, 2)
    assert found.held_blocks.tolist() == [1, 1, 1]


def decoded_hits(log, **more):
    settings = {"chunk_size": 2, "capacity_chunks": None, "policy": "lru"}
    store = ChunkStore(**settings | more, saves_decoded=True)
    return [
        hits for outcome in outcomes([log], store, 2) for hits in outcome.cached_tokens.tolist()
    ]


def test_chunks_that_decoding_fills_are_stored_but_for_the_last_token():
    turn = Line((1, 1, 1), (2, 2, 2, 2))
    # Six of the seven tokens are computed when the answer ends.
    assert decoded_hits([turn, Line((1, 1, 1, 2, 2, 2, 2, 9))]) == [0, 6]
    assert replayed([[turn, Line((1, 1, 1, 2, 2, 2, 2, 9))]], chunk_size=2) == [0, 2]


def test_a_chunk_of_unknown_tokens_takes_room_and_never_hits():
    turns = [Line((1, 1), unknown=3), Line((5, 5)), Line((1, 1, 9))]
    assert decoded_hits(turns) == [0, 0, 2]
    assert decoded_hits(turns, capacity_chunks=2) == [0, 0, 0]


def test_a_chunk_that_decoding_fills_makes_room_on_its_own():
    # fifo: the chunks of the answer drop those of the prompt, one after the other.
    turn = Line((1, 1, 2, 2), (3, 3, 4, 4, 5))
    assert decoded_hits([turn, turn], capacity_chunks=3, policy="fifo") == [0, 0]


@settings(max_examples=150)
@given(logs(), st.integers(1, 4))
def test_with_room_for_all_a_turn_hits_what_was_computed_before_it(log, size):
    def computed(line):
        text = line.prompt + line.output
        return text if line.unknown else text[: len(line.prompt) + max(len(line.output), 1) - 1]

    expected = []
    for i, line in enumerate(log):
        seen = [computed(earlier) for earlier in log[:i] if earlier.namespace == line.namespace]
        full = len(line.prompt) // size * size
        ends = (n for n in range(full, -1, -size) if any(t[:n] == line.prompt[:n] for t in seen))
        best = next((n for n in ends), 0)
        expected.append(best - (best == len(line.prompt) > 0))
    store = ChunkStore(capacity_chunks=None, chunk_size=size, policy="lru", saves_decoded=True)
    found = [n for o in outcomes(halves(log), store, size) for n in o.cached_tokens.tolist()]
    assert found == expected


def test_room_between_partial_chunks_may_be_too_small_for_a_full_one():
    partial = [Line((n, n, n)) for n in range(4)]  # three tokens each, in room for two chunks
    store = ChunkStore(capacity_chunks=2, chunk_size=4, policy="lru", keeps_partial=True)
    (found,) = outcomes([[*partial[:2], Line((8, 8, 8, 8))]], store, 4)
    assert found.evicted_blocks.tolist() == [0, 0, 2]
