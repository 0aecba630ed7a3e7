"""KVCache.AI lab's precomputed.json for RAGPulse: one file, two definitions.

Requests by arrival; every part weighs min(512, input_length / parts) rounded half up; the
first half of the requests fills the cache uncounted. Parts are numbered by content and
category. 162 of the 365 capacities, and the headline rate, count a part wherever it stands;
the other 203 count only parts at the same place after the same parts.
"""

import numpy as np
import pytest
from plain_block_cache import any_position_distances, any_position_hits_fifo
from replayed import as_one_batch, ideal_hit_tokens, unbounded_ideal


@pytest.fixture(scope="module")
def lab(published):
    return published["kvcache_lab"]["ragpulse"]


@pytest.fixture(scope="module")
def batch(read_trace):
    return as_one_batch(read_trace("ragpulse_trace.jsonl.gz"))


@pytest.fixture(scope="module")
def stream(batch):
    return batch.units.tolist()


@pytest.fixture(scope="module")
def weights(batch, lab):
    """Tokens of each use of a part, none in the first half."""
    counted = batch.unit_tokens.copy()
    counted[: lab["summary"]["warmupRequests"]] = 0
    return np.repeat(counted, np.diff(batch.offsets))


@pytest.fixture(scope="module")
def distances(stream):
    return any_position_distances(stream)


def test_size_of_the_trace(lab, batch, stream):
    summary = lab["summary"]
    assert len(batch.requests) == summary["requests"]
    assert len(stream) == summary["totalBlocks"]
    assert len(set(stream)) == summary["uniqueBlocks"]
    assert batch.prompt_tokens.sum() == summary["totalInputTokens"]


def test_any_position_without_bound(lab, weights, distances):
    """Hit tokens = parts seen before at any place, even earlier in the same request."""
    summary = lab["summary"]
    assert weights.sum() == summary["totalMeasuredTokens"]
    hit_tokens = weights[distances >= 0].sum()
    assert hit_tokens == summary["infiniteHitTokens"] == 7_658_936
    assert hit_tokens / weights.sum() == summary["infiniteHitRate"]


def test_prefix_without_bound(lab, batch):
    """Hit tokens = parts of the longest prefix seen in an earlier request."""
    counted = slice(lab["summary"]["warmupRequests"], None)
    assert unbounded_ideal(batch).cached_tokens[counted].sum() == 1_877_444
    assert batch.prompt_tokens[counted].sum() == 10_535_055


def test_any_position_at_162_capacities(lab, stream, weights, distances):
    """Hit tokens of a plain FIFO and a plain LRU list of parts, used front to back."""
    prefix_only = set(lab["prefix_semantics"])
    published = {
        int(capacity): (fifo, lru)
        for capacity, (fifo, lru, _) in lab["capacityResults"].items()
        if capacity not in prefix_only
    }
    assert len(published) == 162
    tokens = weights.tolist()
    found = {
        capacity: (
            any_position_hits_fifo(stream, tokens, capacity),
            weights[(distances >= 0) & (distances < capacity)].sum(),
        )
        for capacity in published
    }
    assert found == published


def test_prefix_at_203_capacities(lab, batch):
    """Hit tokens of kvaudit's bounded ideal cache: contiguous prefix; FIFO by admission, LRU
    of leaves only, and the clairvoyant choice of the leaf used last, with bypass."""
    published = {
        int(capacity): lab["capacityResults"][capacity] for capacity in lab["prefix_semantics"]
    }
    assert len(published) == 203
    counted = slice(lab["summary"]["warmupRequests"], None)
    assert ideal_hit_tokens(batch, published, counted) == published
