"""The blocked cache against the one that reads like its rules, and the rules by example."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvaudit.replay.semantic import blocks, graph, reference
from kvaudit.replay.semantic.serving import NOBODY, Lookups, Rules

rules = st.builds(
    Rules,
    always=st.booleans(),
    exact_tier=st.booleans(),
    ttl_s=st.none() | st.integers(1, 12).map(float),
    sliding=st.booleans(),
    capacity=st.none() | st.integers(1, 6),
    eviction=st.sampled_from(["lru", "fifo", "lfu"]),
    top_k=st.integers(1, 4),
    sightings=st.integers(1, 3),
    guard=st.none() | st.just(lambda donor, request: (donor + request) % 3 != 0),
)


@st.composite
def traffic(draw):
    count = draw(st.integers(1, 60))
    seed = draw(st.integers(0, 2**16))
    rng = np.random.default_rng(seed)
    # Vectors on a coarse grid: many ties, and many neighbours at every threshold.
    vectors = rng.integers(0, 3, (draw(st.integers(1, 20)), 3)).astype(np.float32)
    vectors[~vectors.any(axis=1)] = 1
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = rng.integers(0, len(vectors), count)
    arrived = np.sort(rng.integers(0, 30, count)).astype(float)
    return Lookups(
        partitions=rng.integers(0, draw(st.integers(1, 3)), count).astype(np.int32),
        texts=texts,
        folded=texts // 2,
        vectors=vectors,
        arrived_s=arrived,
        available_s=arrived + rng.integers(0, draw(st.integers(1, 6)), count),
        cosines=np.full(count, draw(st.sampled_from([-1.0, 0.0, 0.5, 0.9, 1.0]))),
        storable=rng.random(count) < 0.9,
        ttls_s=rng.choice([2.0, 5.0, np.inf], count) if draw(st.booleans()) else None,
    )


@given(traffic(), rules, st.integers(1, 17))
def test_blocks_decide_as_the_reference_does(lookups, rules, block_requests):
    slow = reference.serve(lookups, rules)
    fast = blocks.serve(lookups, rules, block_requests)
    assert fast.donors.tolist() == slow.donors.tolist()
    np.testing.assert_array_equal(fast.similarities, slow.similarities)
    assert fast.exact.tolist() == slow.exact.tolist()
    assert fast.vetoed.tolist() == slow.vetoed.tolist()


@given(traffic(), rules, st.sampled_from([-1.0, -0.2, 0.45]))
def test_a_graph_decides_as_the_reference_does(lookups, rules, floor):
    floor = min(floor, lookups.cosines[0])
    slow = reference.serve(lookups, rules)
    fast = graph.serve(lookups, rules, graph.build(lookups, [floor]))
    assert fast.donors.tolist() == slow.donors.tolist()
    np.testing.assert_array_equal(fast.similarities, slow.similarities)
    assert fast.vetoed.tolist() == slow.vetoed.tolist()


def lookups(texts, vectors, *, arrived=None, finished=None, partitions=None, cosine=0.9):
    count = len(texts)
    at = np.arange(count, dtype=float) if arrived is None else np.array(arrived, float)
    return Lookups(
        partitions=np.zeros(count, np.int32) if partitions is None else np.array(partitions),
        texts=np.array(texts),
        folded=np.array(texts),
        vectors=np.array(vectors, np.float32),
        arrived_s=at,
        available_s=at if finished is None else np.array(finished, float),
        cosines=np.full(count, cosine),
        storable=np.ones(count, np.bool_),
    )


def on_a_graph(lookups, rules):
    return graph.serve(lookups, rules, graph.build(lookups, [float(lookups.cosines.min())]))


@pytest.fixture(
    params=[reference.serve, blocks.serve, on_a_graph], ids=["reference", "blocks", "graph"]
)
def serve(request):
    return lambda *args: request.param(*args).donors.tolist()


NEAR = [[1, 0], [0.96, 0.28], [0, 1]]
"""The second is 0.96 from the first."""


def test_a_near_text_hits_and_a_far_one_does_not(serve):
    assert serve(lookups([0, 1, 2], NEAR), Rules()) == [NOBODY, 0, NOBODY]


def test_a_hit_becomes_no_entry_unless_all_do(serve):
    asked = lookups([0, 1, 1], NEAR)
    assert serve(asked, Rules()) == [NOBODY, 0, 0]
    assert serve(asked, Rules(always=True)) == [NOBODY, 0, 1]


def test_a_twin_cannot_hit_before_the_first_answer_exists(serve):
    asked = lookups([0, 0, 0], NEAR, arrived=[0, 1, 5], finished=[3, 4, 6])
    assert serve(asked, Rules()) == [NOBODY, NOBODY, 0]


def test_an_answer_that_ends_as_the_next_request_comes_is_there(serve):
    assert serve(lookups([0, 0], NEAR, arrived=[0, 3], finished=[3, 4]), Rules()) == [NOBODY, 0]


def test_entries_of_another_key_are_not_seen(serve):
    asked = lookups([0, 0, 0], NEAR, partitions=[0, 1, 0])
    assert serve(asked, Rules()) == [NOBODY, NOBODY, 0]


def test_a_lifetime_ends_in_full_and_slides_where_it_does(serve):
    asked = lookups([0, 0, 0], NEAR, arrived=[0, 9, 10])
    assert serve(asked, Rules(ttl_s=10)) == [NOBODY, 0, NOBODY]
    assert serve(asked, Rules(ttl_s=10, sliding=True)) == [NOBODY, 0, 0]


@pytest.mark.parametrize(("eviction", "hit"), [("lru", True), ("fifo", False), ("lfu", True)])
def test_what_leaves_first(serve, eviction, hit):
    far = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    asked = lookups([0, 1, 0, 2, 0], far)
    donors = serve(asked, Rules(capacity=2, eviction=eviction))
    assert donors[:4] == [NOBODY, NOBODY, 0, NOBODY]
    assert (donors[4] == 0) is hit


def test_a_guard_walks_down_to_the_first_it_takes(serve):
    asked = lookups([0, 1, 1], NEAR)
    refuses_nearest = Rules(guard=lambda donor, request: donor != 1, always=True)
    assert serve(asked, refuses_nearest) == [NOBODY, 0, 0]
    one_only = Rules(guard=lambda donor, request: donor != 1, always=True, top_k=1)
    assert serve(asked, one_only) == [NOBODY, 0, NOBODY]


def test_the_exact_tier_asks_no_guard(serve):
    asked = lookups([0, 0], NEAR)
    never = Rules(guard=lambda donor, request: False)
    assert serve(asked, never) == [NOBODY, NOBODY]
    assert serve(asked, Rules(guard=never.guard, exact_tier=True)) == [NOBODY, 0]


def test_a_text_is_as_near_to_itself_as_can_be(serve):
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(50, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = [*range(50), *range(50)]
    assert serve(lookups(texts, vectors, cosine=1.0), Rules())[50:] == list(range(50))
