"""The walk over thresholds: by example, and how often its guarantee fails."""

import numpy as np
import pytest

from kvaudit.core.scales import SCALES, cosine_of, in_scale
from kvaudit.replay.semantic.calibration import GRID, Counts, first_test, fixed_sequence


def test_the_walk_stops_at_the_first_failure():
    counts = [Counts(60, 0), Counts(120, 0), Counts(200, 1), Counts(250, 20), Counts(3000, 20)]
    chosen, p_values = fixed_sequence(counts, 0.05, 0.10)
    assert chosen == 2
    # The last one would pass, but is behind one that did not.
    assert p_values[3] > 0.10
    assert p_values[4] is None


def test_it_starts_where_a_good_threshold_can_pass():
    unit = np.log(0.10) / np.log(0.95)  # 44.9 labels, all right, are the least that pass
    assert first_test([Counts(44, 0), Counts(89, 0), Counts(90, 0)], 0.05, 0.10) == 2
    many = Counts(int(12 * unit) + 1, 0)
    assert first_test([Counts(100, 0), Counts(180, 0), many], 0.05, 0.10) == 1


def test_too_few_labels_prove_nothing():
    assert fixed_sequence([Counts(20, 0), Counts(40, 0)], 0.05, 0.10) == (None, [None, None])
    assert fixed_sequence([], 0.05, 0.10) == (None, [])


@pytest.mark.parametrize(("limit", "labels"), [(0.05, 300), (0.02, 1000)])
def test_the_guarantee_fails_no_more_often_than_it_says(limit, labels):
    """500 calibrations on a population whose true rate at each threshold is known."""
    rng = np.random.default_rng(2026)
    grid = np.array(GRID)

    def right(similarity):
        return 1 / (1 + np.exp(-40 * (similarity - 0.80)))

    population = rng.beta(8, 2, 200_000)
    at = population[None, :] >= grid[:, None]
    with np.errstate(invalid="ignore"):
        true_rates = (at @ (1 - right(population))) / at.sum(axis=1)
    broken = chosen_at_all = 0
    for _ in range(500):
        similarities = rng.beta(8, 2, labels)
        wrong = rng.random(labels) > right(similarities)
        counts = [
            Counts(int(hit.sum()), int(wrong[hit].sum()))
            for hit in (similarities >= threshold for threshold in grid)
        ]
        chosen, _ = fixed_sequence(counts, limit, 0.10)
        chosen_at_all += chosen is not None
        broken += chosen is not None and true_rates[chosen] > limit
    # Two standard errors above 10 % of 500.
    assert broken <= 50 + 2 * np.sqrt(500 * 0.1 * 0.9)
    assert chosen_at_all > 250


@pytest.mark.parametrize("scale", sorted(SCALES))
def test_a_cosine_goes_there_and_back(scale):
    for cosine in (0.5, 0.82, 0.995):
        assert cosine_of(in_scale(cosine, scale), scale) == pytest.approx(cosine, abs=1e-8)
