"""The Mooncake conversation trace: every figure that was published for the released file."""

import numpy as np
import pytest
from plain_block_cache import any_position_distances, prefix_hits_lru
from replayed import as_one_batch, ideal_hit_tokens, unbounded_ideal


@pytest.fixture(scope="module")
def requests(read_trace):
    return read_trace("mooncake_fast25_conversation.jsonl.gz")


@pytest.fixture(scope="module")
def batch(requests):
    return as_one_batch(requests)


@pytest.fixture(scope="module")
def prompts(batch):
    """Each prompt's blocks."""
    return [units.tolist() for units in np.split(batch.units, batch.offsets[1:-1])]


def test_means_of_table_2(published, requests):
    """Requests, and plain means of prompt and output tokens (FAST'25, Table 2)."""
    table = published["mooncake_fast25_paper"]["table2"]["conversation"]
    assert len(requests) == table["requests"]
    assert round(np.mean([r.prompt_tokens for r in requests])) == table["avg_input"]
    assert round(np.mean([r.output_tokens for r in requests])) == table["avg_output"]


def test_cache_ratio_of_table_2_lies_within_what_the_file_can_tell(published, batch):
    """Hit tokens / prompt tokens, whole log. The ids tell blocks of 512 tokens, the paper
    measured finer ones: a match ends somewhere inside the first block that differs, so up to
    511 tokens a request are open, short of its end."""
    hit_tokens = unbounded_ideal(batch).cached_tokens
    more = np.minimum(511, batch.prompt_tokens - hit_tokens)
    low = hit_tokens.sum() / batch.prompt_tokens.sum()
    high = (hit_tokens + more).sum() / batch.prompt_tokens.sum()
    assert (round(low, 3), round(high, 3)) == (0.374, 0.414)
    assert (
        low <= published["mooncake_fast25_paper"]["table2"]["conversation"]["cache_ratio"] <= high
    )


def test_ideal_of_the_third_party_note(published, batch):
    """Hit blocks / blocks, whole log, unbounded, contiguous prefix; a partial last block is a
    block."""
    ideal = published["third_party_note"]["ideal"]["conversation"]
    hit_blocks = unbounded_ideal(batch).hit_blocks.sum()
    assert round(hit_blocks / batch.prompt_units.sum(), 3) == ideal


def test_lru_fractions_of_the_third_party_note(published, prompts):
    """Hit blocks / blocks, whole log, contiguous prefix, in one plain LRU list of so large a
    share of all distinct blocks (see plain_block_cache)."""
    blocks = sum(map(len, prompts))
    distinct = len({block for prompt in prompts for block in prompt})
    fractions = published["third_party_note"]["lru_fraction_of_unique"]["conversation"]
    found = {
        share: sum(prefix_hits_lru(prompts, int(float(share) * distinct))) / blocks
        for share in fractions
    }
    assert {share: round(rate, 3) for share, rate in found.items()} == fractions


def test_any_position_of_llmtrafficlens(published, batch, prompts):
    """512 x hit blocks / prompt tokens over the second half of the requests, in a plain LRU of
    capacity / 512 blocks; a block hits wherever it is found, partial ones count as 512."""
    half = len(prompts) // 2
    distances = any_position_distances([block for prompt in prompts for block in prompt])
    counted = distances[sum(map(len, prompts[:half])) :]
    tokens = batch.prompt_tokens[half:].sum()
    percent = published["llmtrafficlens_readme"]["conversation"]
    assert len(percent) == 7
    for capacity, expected in percent.items():
        blocks = len(distances) if capacity == "unbounded" else int(capacity) // 512
        hits = ((counted >= 0) & (counted < blocks)).sum()
        assert round(100 * 512 * hits / tokens, 1) == expected, capacity


def test_ceiling_of_kvcache_simulator(published, batch):
    """Hit tokens over the second half of the requests, unbounded, contiguous prefix; the last
    block weighs what is left of the prompt."""
    half = len(batch.requests) // 2
    hit_tokens = unbounded_ideal(batch).cached_tokens[half:].sum()
    expected = published["kvcache_simulator_0_1_3"]["conversation"]["ceiling"]
    assert [hit_tokens, batch.prompt_tokens[half:].sum()] == expected


def test_capacities_of_kvcache_simulator(published, batch):
    """Hit tokens over the second half of the requests in kvaudit's bounded ideal cache: FIFO by
    admission, LRU of leaves only, and the clairvoyant choice of the leaf used last, with
    bypass; the request being served keeps its own path, but under FIFO."""
    table = published["kvcache_simulator_0_1_3"]["conversation"]["blocks"]
    expected = {int(capacity): hit_tokens for capacity, hit_tokens in table.items()}
    assert len(expected) == 14
    counted = slice(len(batch.requests) // 2, None)
    assert ideal_hit_tokens(batch, expected, counted) == expected
