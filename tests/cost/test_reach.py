"""Pairs of tokens, against counting them one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvaudit.cost.reach import FULL, Reach, ReachKind

REACHES = (FULL, Reach(ReachKind.WINDOW, 5), Reach(ReachKind.CHUNK, 4), Reach(ReachKind.TOP, 3))


def seen(reach, position):
    """Return how many tokens the token at ``position`` attends to, itself among them."""
    if reach.kind is ReachKind.FULL:
        return position + 1
    if reach.kind is ReachKind.CHUNK:
        return position % reach.tokens + 1
    return min(position + 1, reach.tokens)


@pytest.mark.parametrize("reach", REACHES, ids=lambda reach: reach.kind)
@given(new=st.integers(0, 40), reused=st.integers(0, 40))
def test_pairs_are_those_of_every_token(reach, new, reused):
    counted = sum(seen(reach, n) for n in range(reused, reused + new))
    assert reach.pairs(new, reused) == counted
    assert reach.pairs(np.array([new, 1]), np.array([reused, 0])).tolist() == [counted, 1]


def test_the_rectangle_is_all_new_by_all_in_the_cache():
    assert FULL.square(3, 10) == 39
    assert Reach(ReachKind.WINDOW, 5).square(3, 10) == 3 * (4 + 3)  # the cache keeps 4
    assert Reach(ReachKind.WINDOW, 5).square(3, 2) == 3 * (2 + 3)
