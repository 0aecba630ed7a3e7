"""The standard error of a hit rate, held against the spread that repeated logs have."""

import numpy as np

from kvaudit.replay.ledger import UNKNOWN
from kvaudit.replay.tally import sampling


def log(draw, sessions=80):
    """A log whose sessions hit alike, of one to nine requests each."""
    keys, prompts, hits = [], [], []
    for session in range(sessions):
        share = draw.uniform(0, 1)
        for _ in range(draw.integers(1, 10)):
            prompt = int(draw.integers(100, 2000))
            keys.append(session)
            prompts.append(prompt)
            hits.append(int(prompt * share))
    return (np.array(column, np.int64) for column in (keys, prompts, hits))


def test_the_error_is_the_spread_of_the_rate_over_logs_of_the_same_traffic():
    draw = np.random.default_rng(1)
    rates, errors, naive = [], [], []
    for _ in range(300):
        sessions, prompts, hits = log(draw)
        found = sampling(sessions, prompts, hits)
        rates.append(hits.sum() / prompts.sum())
        errors.append(found.standard_error)
        naive.append(sampling(np.full_like(sessions, UNKNOWN), prompts, hits).standard_error)
    assert (found.unit, found.units) == ("session", 80)
    assert 0.9 < np.mean(errors) / np.std(rates) < 1.1
    assert np.mean(naive) < 0.7 * np.std(rates)  # one by one, requests promise too much


def test_a_request_without_a_session_counts_as_its_own():
    sessions = np.array([3, 3, UNKNOWN, UNKNOWN])
    found = sampling(sessions, np.array([10, 10, 10, 10]), np.array([5, 5, 0, 10]))
    assert (found.unit, found.units) == ("session", 3)


def test_one_unit_or_no_tokens_have_no_error():
    one = np.array([10])
    assert sampling(np.array([0]), one, one).standard_error is None
    none = np.array([], np.int64)
    assert sampling(none, none, none).standard_error is None
    zero = np.array([0, 0])
    assert sampling(np.array([UNKNOWN, UNKNOWN]), zero, zero).standard_error is None
