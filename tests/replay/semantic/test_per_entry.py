"""Thresholds of single entries: the fit, the chance to explore, and the error that it keeps."""

from dataclasses import replace

import numpy as np
import pytest

from kvaudit.core.errors import UsageError
from kvaudit.replay.semantic.gather import Asked
from kvaudit.replay.semantic.per_entry import FEWEST, Entry, serve
from kvaudit.replay.semantic.serving import NOBODY, Lookups


def entry_of(*observed):
    entry = Entry()
    for similarity, right, times in observed:
        for _ in range(times):
            entry.observe(similarity, right)
    return entry


def test_with_right_answers_alone_the_chance_is_chernoffs():
    """Of n right ones at one similarity, p^n is the chance of as many at a height p."""
    for n in (20, 100, 200):
        heights = np.linspace(0.5, 1, 100_001)
        doubt = 1 - ((1 - heights**n) * heights).max()
        found = entry_of((0.9, True, n)).explore_chance(0.9, 0.01)
        # A coarse grid of heights may ask a little more, and never less.
        assert 0 <= found - (1 - 0.01 / doubt) < 0.05


def test_it_only_learns_at_first():
    assert entry_of((0.9, True, FEWEST - 3)).explore_chance(0.9, 0.5) == 1
    assert entry_of((0.9, True, FEWEST - 2)).explore_chance(0.9, 0.5) < 1


def test_more_evidence_asks_less_and_a_wrong_answer_more():
    chances = [entry_of((0.9, True, n)).explore_chance(0.9, 0.02) for n in (5, 50, 200, 800)]
    assert chances == sorted(chances, reverse=True)
    assert chances[-1] == 0
    assert entry_of((0.9, True, 200), (0.9, False, 9)).explore_chance(0.9, 0.02) > chances[2]


def test_what_separates_perfectly_is_told_apart():
    entry = entry_of((0.95, True, 400), (0.8, False, 400))
    assert entry.explore_chance(0.95, 0.02) == 0
    # Where it is surely wrong it still serves the share that it may get wrong, and no more.
    assert entry.explore_chance(0.8, 0.02) == pytest.approx(0.98, abs=0.001)


def test_nearer_is_never_worse():
    entry = entry_of((0.9, True, 100), (0.7, False, 30), (0.8, True, 10), (0.8, False, 10))
    chances = [entry.explore_chance(s, 0.05) for s in (0.6, 0.7, 0.8, 0.9, 0.95, 1.0)]
    assert chances == sorted(chances, reverse=True)


def asked(group, response=None):
    return Asked(
        number=0,
        id="",
        text="",
        key=(),
        arrived_s=None,
        finished_s=None,
        storable=True,
        tenant=None,
        answer_group=group,
        response=response,
        looked_up=True,
        cosine=0.5,
    )


def lookups_of(angles):
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    count = len(angles)
    moments = np.arange(count, dtype=np.float64)
    return Lookups(
        partitions=np.zeros(count, np.int32),
        texts=np.arange(count),
        folded=np.arange(count),
        vectors=vectors,
        arrived_s=moments,
        available_s=moments,
        cosines=np.full(count, 0.5),
        storable=np.ones(count, np.bool_),
    )


def test_errors_stay_under_delta_and_hits_grow():
    """Whether one entry serves follows a logistic curve; eight logs of 300 requests."""
    delta, requests, wrong, hits = 0.05, 300, 0, np.zeros(3)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        near = np.concatenate(([1.0], rng.uniform(0.6, 1, requests - 1).round(2)))
        likely = 1 / (1 + np.exp(-80 * (near - 0.75)))
        groups = ["one" if rng.random() < p else f"other {i}" for i, p in enumerate(likely)]
        groups[0] = "one"
        # Only the first is stored, so that every request is about its entry.
        lookups = replace(lookups_of(np.arccos(near)), storable=np.arange(requests) == 0)
        served = serve(lookups, [asked(group) for group in groups], delta, seed)
        hit = np.flatnonzero(served.donors != NOBODY)
        wrong += sum(groups[i] != "one" for i in hit)
        hits += np.bincount(hit * 3 // requests, minlength=3)
    # Where it is known by chance alone, 2,400 requests are wrong less often than this.
    assert wrong / (8 * requests) <= delta
    thirds = hits / (8 * requests / 3)
    assert thirds[0] < thirds[1] < thirds[2] + 0.03
    # Six of ten requests are near enough to be right 98 times in 100.
    assert thirds[2] > 0.4


def test_labels_are_known_when_the_answer_is_there():
    lookups = lookups_of(np.full(400, 0.1))
    at_once = serve(lookups, [asked("one")] * 400, 0.2, 0)
    late = replace(lookups, available_s=np.append(0.0, np.full(399, 1e9)))
    assert (at_once.donors == 0).sum() > 200
    assert (serve(late, [asked("one")] * 400, 0.2, 0).donors == NOBODY).all()


def test_responses_stand_in_for_labels():
    angles = np.full(80, 0.1)
    served = serve(lookups_of(angles), [asked(None, "yes")] * 80, 0.2, 0)
    assert (served.donors != NOBODY).any()
    with pytest.raises(UsageError, match="neither answer_group nor responses"):
        serve(lookups_of(angles), [asked(None)] * 40, 0.02, 0)
