"""Bounds that hold at any time of stopping: by simulation, and against their definition."""

import numpy as np
import pytest

from kvaudit.replay.semantic.betting import anytime_upper, first_crossing, log_wealth, standing

ALPHA = 0.10
RUNS = 500
ALLOWED = RUNS * ALPHA + 2 * (RUNS * ALPHA * (1 - ALPHA)) ** 0.5
"""Two standard errors above what the level permits."""


def looks(wealths, every=50):
    return wealths[every - 1 :: every]


@pytest.mark.parametrize("under", [True, False])
@pytest.mark.parametrize("limit", [0.05, 0.02])
def test_a_look_every_50_labels_keeps_its_error(under, limit):
    """The claim is true with equality, where it is hardest to keep."""
    rng = np.random.default_rng(50)
    crossed = 0
    for _ in range(RUNS):
        wrong = rng.random(500) < limit
        crossed += max(looks(log_wealth(wrong, limit, under=under))) >= np.log(1 / ALPHA)
    assert crossed <= ALLOWED


def test_a_fixed_size_test_at_every_look_does_not():
    """The same labels under the exact binomial test, repeated: why bets are needed."""
    from scipy.stats import binom

    rng = np.random.default_rng(50)
    crossed = 0
    for _ in range(RUNS):
        wrong = np.cumsum(rng.random(500) < 0.05)
        crossed += any(binom.cdf(wrong[n - 1], n, 0.05) <= ALPHA for n in range(50, 501, 50))
    assert crossed > ALLOWED


@pytest.mark.parametrize("under", [True, False])
def test_drawn_without_replacement_it_keeps_its_error_too(under):
    rng = np.random.default_rng(7)
    hits, limit = 400, 0.05
    population = np.arange(hits) < limit * hits
    crossed = sum(
        first_crossing(rng.permutation(population), limit, ALPHA, hits, under=under) is not None
        for _ in range(RUNS)
    )
    assert crossed <= ALLOWED


def test_the_wealth_is_that_of_its_definition():
    wrong = np.random.default_rng(1).random(30) < 0.2
    shares = (np.arange(24) + 0.5) / 24
    for under, most in ((True, 1 / 0.9), (False, 1 / 0.1)):
        gains = (0.1 - wrong) if under else (wrong - 0.1)
        wanted = np.log([np.prod(1 + share * most * gains) for share in shares])
        wealth = log_wealth(wrong, 0.1, under=under)[-1]
        assert wealth == pytest.approx(np.log(np.mean(np.exp(wanted))), abs=1e-9)


def test_it_proves_what_is_so():
    found = standing([False] * 300, 0.02, 0.05)
    assert found.proven_after is not None
    assert found.proven_after < 300
    assert found.over_after is None
    assert 0.005 < found.upper <= 0.02
    assert standing([True, False] * 20, 0.02, 0.05).over_after < 10


def test_the_upper_bound_is_the_least_limit_that_is_proven():
    wrong = [i % 40 == 7 for i in range(200)]
    upper = anytime_upper(wrong, 0.05)
    assert first_crossing(wrong, upper + 1e-6, 0.05, under=True) is not None
    assert first_crossing(wrong, upper - 1e-6, 0.05, under=True) is None


def test_all_hits_labelled_leave_nothing_open():
    wrong = [i < 3 for i in range(100)]
    assert anytime_upper(wrong, 0.05, 100) == pytest.approx(0.03, abs=0.011)
    assert first_crossing(wrong, 0.0299, 0.05, 100, under=False) is not None
    assert first_crossing(wrong, 0.5, 0.05, 100, under=False) is None


def test_nothing_looked_at_proves_nothing():
    assert standing([], 0.02, 0.05).upper == 1
