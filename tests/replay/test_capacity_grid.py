"""The capacities that a curve is shown at."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kvaudit.replay.capacity_grid import POINTS, default_grid, rounded_up

sizes = st.integers(0, 10**9)


@given(least=sizes, full=sizes, points=st.integers(3, POINTS))
def test_a_grid_climbs_from_the_least_to_the_fullest_cache(least, full, points):
    *bounded, unbounded = default_grid(least, full, points)
    assert unbounded is None
    assert bounded == sorted(set(bounded))
    assert bounded[-1] == max(least, full, 1)
    assert bounded[0] >= min(max(least, 1), bounded[-1])
    assert len(bounded) < points


@given(least=st.integers(1, 10**6), factor=st.integers(2, 10**5))
def test_steps_are_even(least, factor):
    bounded = default_grid(least, least * factor, POINTS)[:-1]
    assert bounded[0] == rounded_up(least) or len(bounded) == 1
    ratios = [b / a for a, b in pairwise(bounded[:-1])]
    # Rounding to two digits moves a step by a tenth at most, at either end.
    assert not ratios or max(ratios) / min(ratios) < 1.3 or bounded[0] < 10


def test_two_digits_are_kept():
    found = [rounded_up(v) for v in (1, 9.2, 99, 101, 1000, 1001, 4271, 99_001)]
    assert found == [1, 10, 99, 110, 1000, 1100, 4300, 100_000]
