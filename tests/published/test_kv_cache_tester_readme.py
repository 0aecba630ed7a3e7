"""kv-cache-tester's README over 739 sessions, as far as 29 of them can tell.

A session's rate = blocks of the prefix shared with the PREVIOUS request of the same
conversation / blocks, the first request counted as a miss; sub-agents, which are other
conversations, left out. The sample holds smaller sessions than the whole set, so its quartiles
lie below those of the README (92, 96, 97): what can be checked is that every session lies
within the published range. With the sub-agents' requests between the others one does not.
"""

from itertools import groupby, takewhile

import numpy as np
import pytest


@pytest.fixture(scope="module")
def sessions(read_trace):
    """Each session's requests, sub-agents included, by time."""
    requests = read_trace("kv_cache_tester_sample29.jsonl.gz")
    return [list(group) for _, group in groupby(requests, lambda request: request.session)]


@pytest.fixture
def readme(published):
    return published["kv_cache_tester_readme"]


def own_requests(session):
    """Leave out what sub-agents sent: their ids have one more part."""
    return [request for request in session if request.id.count("/") == 1]


def shared_percent(requests):
    hits = blocks = 0
    before = ()
    for request in requests:
        alike = zip(before, request.block_ids, strict=False)
        hits += sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], alike))
        blocks += len(request.block_ids)
        before = request.block_ids
    return 100 * hits / blocks


def test_every_session_lies_within_the_published_range(readme, sessions):
    """The published minimum and maximum are whole percents."""
    rates = [shared_percent(own_requests(session)) for session in sessions]
    assert len(rates) == 29
    published = readme["conversation_only_hit_rate_percent"]
    assert published["min"] <= round(min(rates))
    assert round(max(rates)) <= published["max"]
    found = [min(rates), *np.percentile(rates, [25, 50, 75]), max(rates), np.mean(rates)]
    assert np.round(found, 1).tolist() == [61.9, 83.1, 91.1, 93.8, 97.5, 88.0]


def test_with_sub_agents_between_a_session_falls_out_of_the_range(readme, sessions):
    """Which shows that the README's figure is of the conversation alone."""
    rates = [shared_percent(session) for session in sessions]
    assert min(rates) < readme["conversation_only_hit_rate_percent"]["min"] - 20


def test_first_and_last_prompts_lie_within_the_published_range(readme, sessions):
    """Prompt tokens of a conversation's first and last request."""
    first = [own_requests(session)[0].prompt_tokens for session in sessions]
    last = [own_requests(session)[-1].prompt_tokens for session in sessions]
    assert readme["start_min"] <= min(first)
    assert max(first) <= readme["start_max"]
    assert max(last) <= readme["end_max"]
