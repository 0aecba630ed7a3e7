"""What is near is found without loss: the sieve's bound, and neighbours that are cut off."""

from functools import partial

import numpy as np
import pytest

from kvaudit.replay.semantic import blocks, on_device, reference
from kvaudit.replay.semantic.search import NumpyProducts, Searcher
from kvaudit.replay.semantic.serving import Lookups, Rules, similarities_of
from kvaudit.replay.semantic.sieve import SAMPLE, Sieve

DIMENSIONS = 160


def clustered(count, *, centres=1500, spread=0.5, seed=4):
    """Unit vectors around some centres, most of their length in a few directions."""
    rng = np.random.default_rng(seed)
    middle = rng.normal(size=(centres, DIMENSIONS)) / (1 + np.arange(DIMENSIONS) / 8)
    vectors = middle[rng.integers(0, centres, count)]
    noise = rng.normal(size=vectors.shape) / (1 + np.arange(DIMENSIONS) / 8)
    vectors = vectors + spread * rng.random((count, 1)) * noise
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


VECTORS = clustered(SAMPLE + 500)


def test_a_sieve_bounds_every_product_and_rules_out_most():
    sieve = Sieve.of(VECTORS, 0.9)
    assert sieve is not None
    rows, columns = np.arange(300), np.arange(len(VECTORS))
    bounds, products = sieve.bounds(rows, columns), VECTORS[rows] @ VECTORS.T
    assert (bounds >= products - 1e-5).all()
    assert (bounds >= 0.9).mean() < 3 * (products >= 0.9).mean()


def test_no_sieve_where_it_would_rule_out_little():
    assert Sieve.of(VECTORS, 0.0) is None
    assert Sieve.of(VECTORS[:100], 0.9) is None


@pytest.mark.parametrize("floor", [0.2, 0.9])
def test_the_nearest_are_those_of_all_products(floor):
    rows, columns = np.arange(40), np.arange(len(VECTORS))
    searcher = Searcher(NumpyProducts(VECTORS, floor), VECTORS, columns)
    for row, near in enumerate(searcher.near(rows, columns, np.full(40, floor), most=10)):
        all_ = similarities_of(VECTORS, np.full(len(columns), row), columns)
        order = np.lexsort((columns, -all_))
        expected = [int(i) for i in order if all_[i] >= floor]
        assert near.nodes == expected[: len(near.nodes)]
        assert near.similarities == all_[expected][: len(near.nodes)].tolist()
        assert near.complete is (len(near.nodes) == len(expected))
        assert len(near.nodes) >= min(10, len(expected))


@pytest.mark.parametrize(
    "rules",
    [
        Rules(),
        Rules(always=True, exact_tier=True, guard=lambda donor, request: donor % 3 != 0),
        Rules(ttl_s=200, sliding=True, capacity=150, eviction="lfu", top_k=2),
        # So few survive of so many neighbours that the nearest ones are all gone.
        Rules(always=True, capacity=5, eviction="fifo", top_k=1),
    ],
)
@pytest.mark.parametrize("cosine", [0.5, 0.9])
def test_blocks_decide_as_the_reference_does_on_real_dimensions(rules, cosine):
    rng = np.random.default_rng(9)
    count = 1200
    texts = rng.integers(0, len(VECTORS), count) // rng.integers(1, 40, count)
    arrived = np.cumsum(rng.exponential(size=count))
    lookups = Lookups(
        partitions=rng.integers(0, 3, count).astype(np.int32),
        texts=texts,
        folded=texts // 2,
        vectors=VECTORS,
        arrived_s=arrived,
        available_s=arrived + rng.exponential(3, count),
        cosines=np.where(rng.random(count) < 0.2, cosine + 0.05, cosine),
        storable=rng.random(count) < 0.95,
    )
    slow, fast = reference.serve(lookups, rules), blocks.serve(lookups, rules, 256)
    assert fast.donors.tolist() == slow.donors.tolist()
    np.testing.assert_array_equal(fast.similarities, slow.similarities)
    assert fast.vetoed.tolist() == slow.vetoed.tolist()


def test_a_device_decides_as_the_cpu_does():
    pytest.importorskip("torch")
    texts = np.random.default_rng(2).integers(0, len(VECTORS), 900)
    at = np.arange(len(texts), dtype=float)
    lookups = Lookups(
        partitions=np.zeros(len(texts), np.int32),
        texts=texts,
        folded=texts,
        vectors=VECTORS,
        arrived_s=at,
        available_s=at,
        cosines=np.full(len(texts), 0.7),
        storable=np.ones(len(texts), np.bool_),
    )
    make = partial(on_device.products, device="cpu")
    there, here = blocks.serve(lookups, Rules(), make_products=make), blocks.serve(lookups, Rules())
    assert (there.donors >= 0).sum() > 50
    assert there.donors.tolist() == here.donors.tolist()
    np.testing.assert_array_equal(there.similarities, here.similarities)
