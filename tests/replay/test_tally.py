"""Sums and rates of a replay, against their definitions written out."""

import numpy as np
import pytest

from kvaudit.replay import tally
from kvaudit.replay.ledger import CacheLedger
from kvaudit.replay.lengths import lengths
from kvaudit.replay.outcomes import CacheOutcome
from kvaudit.replay.tally import by_namespace, by_session, summarize, with_pool


def served(hit_tokens, hit_blocks, blocks) -> CacheLedger:
    out = CacheLedger()
    for i, row in enumerate(zip(hit_tokens, hit_blocks, blocks, strict=True)):  # a request a batch
        hits, hit, count = (np.array([value]) for value in row)
        out.add(
            CacheOutcome(
                cached_tokens=hits,
                hit_blocks=hit,
                admitted=np.array([i != 0]),
                evicted_blocks=np.array([i]),
                held_blocks=np.array([10 * i]),
                peak_blocks=7 + i,
            ),
            count,
        )
    return out


def test_the_three_weightings_differ_and_bear_their_own_names():
    prompts = np.array([100, 900, 0])
    summary = summarize(
        prompts,
        served([50, 90, 0], [4, 5, 0], [7, 57, 0]),
        counted=slice(0, None),
        definition="d",
    )
    assert (summary.hit_tokens, summary.prompt_tokens) == (140, 1000)
    assert summary.hit_rate == 0.14
    assert summary.block_hit_rate == 9 / 64
    assert summary.mean_request_hit_rate == pytest.approx((0.5 + 0.1) / 2)
    assert summary.computed_tokens == 860


def test_the_warm_up_is_left_out_of_every_sum():
    summary = summarize(
        np.array([10, 10]),
        served([0, 10], [0, 1], [1, 1]),
        counted=slice(1, None),
        definition="d",
    )
    assert (summary.requests, summary.hit_rate, summary.block_hit_rate) == (1, 1.0, 1.0)


def test_nothing_counted_gives_no_rate_rather_than_zero():
    summary = summarize(
        np.array([10]), served([0], [0], [1]), counted=slice(1, None), definition="d"
    )
    assert summary.requests == 0
    assert summary.hit_rate is None
    assert summary.block_hit_rate is None
    assert summary.mean_request_hit_rate is None


def test_namespaces_of_one_name_are_one_and_the_largest_comes_first():
    rows = by_namespace(
        ["a", "b", "a"], np.array([0, 1, 2, 2]), np.array([1, 9, 5, 5]), np.array([0, 9, 1, 2])
    )
    assert [(r.namespace, r.requests, r.prompt_tokens, r.hit_tokens) for r in rows] == [
        ("a", 3, 11, 3),
        ("b", 1, 9, 9),
    ]


def test_sessions_are_ranked_by_what_they_compute():
    summary = by_session(
        ["s", "t", "u"],
        np.array([0, 0, 1, -1, 2]),
        np.array([10, 10, 100, 7, 4]),
        np.array([0, 10, 90, 7, 4]),
    )
    assert summary.sessions == 3
    assert [(s.session, s.hit_rate) for s in summary.most_computed] == [
        ("s", 0.5),
        ("t", 0.9),
        ("u", 1.0),
    ]
    assert (summary.hit_rate_p10, summary.hit_rate_p50, summary.hit_rate_p90) == (0.5, 0.9, 1.0)
    assert by_session([], np.array([-1]), np.array([1]), np.array([0])) is None


def test_lengths_are_of_the_values_themselves():
    summary = lengths(np.array([3, 1, 2, 10]))
    assert (summary.total, summary.mean, summary.p50, summary.p99, summary.max) == (
        16,
        4,
        2,
        10,
        10,
    )
    assert lengths(np.array([], np.int64)) is None


def test_what_the_pool_did_is_summed_over_the_counted_requests():
    cache, counted = served([0, 0, 0], [0, 0, 0], [1, 1, 1]), slice(1, None)
    summary = summarize(np.array([1, 1, 1]), cache, counted=counted, definition="d")
    pool = with_pool(summary, cache, np.array([0.0, 0.5, 2.0]), counted)
    assert (pool.evicted_blocks, pool.not_admitted, pool.peak_blocks) == (3, 0, 9)
    assert pool.occupancy == [(0.0, 0), (0.5, 10), (2.0, 20)]


def test_a_long_series_is_thinned_and_keeps_its_end(monkeypatch):
    monkeypatch.setattr(tally, "OCCUPANCY_POINTS", 2)
    cache = served([0] * 5, [0] * 5, [1] * 5)
    summary = summarize(np.ones(5, np.int64), cache, counted=slice(0, None), definition="d")
    pool = with_pool(summary, cache, np.arange(5.0), slice(0, None))
    assert pool.occupancy == [(1.0, 10), (4.0, 40)]
