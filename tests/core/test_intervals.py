"""Intervals against published examples, and against how often they hold."""

import random

import pytest

from kvaudit.core.intervals import between, between_proportions, wilson


def test_wilson_equals_the_published_example():
    # Newcombe 1998, Statistics in Medicine 17, table I: 81 of 263, and 0 of 20.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)


def test_the_difference_of_proportions_equals_the_published_example():
    # Newcombe 1998, Statistics in Medicine 17, table II (a): 56/70 less 48/80, method 10.
    assert between_proportions(56, 70, 48, 80) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_a_difference_of_rates_is_within_its_interval_nineteen_times_in_twenty():
    draw = random.Random(5)
    inside = 0
    for _ in range(2000):
        low, high = between(draw.gauss(0.6, 0.03) - draw.gauss(0.5, 0.04), 0.03, 0.04)
        inside += low <= 0.1 <= high
    assert 0.935 < inside / 2000 < 0.965
