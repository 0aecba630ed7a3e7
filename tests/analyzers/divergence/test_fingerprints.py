"""Runs that two prompts have in common, where they stand close to one another or far apart."""

import numpy as np

from kvaudit.analyzers.divergence.fingerprints import dense


def test_short_runs_count_where_most_around_them_is_in_such_runs():
    found = np.array([True, True, False, True, True, True] * 6 + [False, False, True, False] * 9)
    kept = dense(found, 6, 0.75)
    assert kept[:30].tolist() == found[:30].tolist()
    assert not kept[44:].any()
