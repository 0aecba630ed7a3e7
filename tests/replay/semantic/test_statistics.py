"""The bounds against scipy, against counts worked out elsewhere, and in what they promise."""

import numpy as np
import pytest

from kvaudit.replay.semantic.statistics import (
    clustered_upper,
    finite_lower_bound,
    finite_upper_bound,
    hypergeometric_cdf,
    labels_needed,
    lower_bound,
    sample_upper_bound,
    upper_bound,
)

stats = pytest.importorskip("scipy.stats")


@pytest.mark.parametrize("looked_at", [1, 7, 59, 400, 20_000])
@pytest.mark.parametrize("share", [0, 0.003, 0.04, 0.5, 0.9])
def test_clopper_pearson_is_scipys(looked_at, share):
    wrong = round(share * looked_at)
    if wrong < looked_at:
        expected = stats.beta.ppf(0.95, wrong + 1, looked_at - wrong)
        assert upper_bound(wrong, looked_at) == pytest.approx(expected, abs=1e-9)
    if wrong:
        expected = stats.beta.ppf(0.05, wrong, looked_at - wrong + 1)
        assert lower_bound(wrong, looked_at) == pytest.approx(expected, abs=1e-9)


def test_the_ends():
    assert upper_bound(5, 5) == 1
    assert lower_bound(0, 5) == 0


@pytest.mark.parametrize(
    ("limit", "labels"), [(0.05, [59, 93, 124, 153]), (0.02, [149, 236, 313, 386])]
)
def test_labels_needed(limit, labels):
    for wrong, needed in enumerate(labels):
        assert upper_bound(wrong, needed) <= limit < upper_bound(wrong, needed - 1)


def test_the_finite_form_is_scipys_and_narrower():
    for wrong in (0, 1, 5):
        own = [hypergeometric_cdf(wrong, 400, k, 150) for k in range(401)]
        expected = stats.hypergeom.cdf(wrong, 400, np.arange(401), 150)
        np.testing.assert_allclose(own, expected, atol=1e-9)
        largest = max(k for k in range(401) if expected[k] >= 0.05) / 400
        assert finite_upper_bound(wrong, 150, 400) == largest
    assert f"{upper_bound(0, 150):.2%}, {sample_upper_bound(0, 150, 400):.2%}" == "1.98%, 1.50%"


def test_all_looked_at_leaves_no_doubt():
    assert finite_upper_bound(3, 50, 50) == 3 / 50


def test_the_bound_fails_no_more_often_than_it_says():
    rng = np.random.default_rng(7)
    wrong = rng.binomial(200, 0.04, 2000)
    below = sum(upper_bound(int(k), 200) < 0.04 for k in wrong)
    assert below <= 0.05 * 2000


@pytest.mark.parametrize(("wrong", "looked_at", "hits"), [(0, 30, 100), (3, 60, 200), (7, 90, 120)])
def test_the_finite_lower_bound_against_scipy(wrong, looked_at, hits):
    hypergeom = pytest.importorskip("scipy.stats").hypergeom
    found = round(finite_lower_bound(wrong, looked_at, hits, 0.05) * hits)
    assert hypergeom.sf(wrong - 1, hits, found, looked_at) >= 0.05
    assert found == wrong or hypergeom.sf(wrong - 1, hits, found - 1, looked_at) < 0.05


@pytest.mark.parametrize(
    ("wrong", "limit"), [(0, 0.05), (1, 0.05), (0, 0.02), (1, 0.02), (3, 0.01)]
)
def test_labels_needed_are_the_fewest(wrong, limit):
    # Semantic.md 2.3: 59, 93; 149, 236; 773.
    found = labels_needed(wrong, limit)
    assert found == {(0, 0.05): 59, (1, 0.05): 93, (0, 0.02): 149, (1, 0.02): 236}.get(
        (wrong, limit), 773
    )


def test_clusters_of_one_change_nothing_but_the_rounding():
    wrong = [i < 4 for i in range(100)]
    assert clustered_upper(wrong, range(100)) == upper_bound(4, 100)
    assert clustered_upper(wrong, [i // 10 for i in range(100)]) == upper_bound(1, 10)
