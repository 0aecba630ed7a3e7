"""Runs of keys against the keys that they stand for."""

from itertools import chain

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kvaudit.replay.batches import offsets_of
from kvaudit.replay.key_runs import (
    KeyRuns,
    block_counts,
    keys_by_request,
    keys_of_runs,
    runs_of_keys,
    with_unknown,
)


@st.composite
def requests(draw):
    """Each request as runs of keys."""
    run = st.tuples(st.integers(0, 50), st.integers(1, 4)).map(lambda r: range(r[0], sum(r)))
    return draw(st.lists(st.lists(run, max_size=4), max_size=5))


def as_runs(log):
    """The same as one batch."""
    shifts, ends = [], []
    for request in log:
        place = 0
        for run in request:
            shifts.append(run.start - place)
            place += len(run)
            ends.append(place)
    offsets = offsets_of(np.array([len(request) for request in log], np.int64))
    return KeyRuns(np.array(shifts, np.int32), np.array(ends, np.int32), offsets)


def spelled(log):
    """The keys of each request."""
    return [[key for run in request for key in run] for request in log]


@given(requests())
def test_runs_say_every_key(log):
    runs, keys = as_runs(log), spelled(log)
    assert keys_of_runs(runs).tolist() == [*chain(*keys)]
    assert block_counts(runs).tolist() == [len(request) for request in keys]
    assert [found.tolist() for found in keys_by_request(runs)] == keys


@given(requests())
def test_keys_of_their_own_are_runs_too(log):
    keys = spelled(log)
    offsets = offsets_of(np.array([len(request) for request in keys], np.int64))
    found = keys_of_runs(runs_of_keys(np.array([*chain(*keys)], np.int32), offsets))
    assert found.tolist() == [*chain(*keys)]


@given(requests(), st.data())
def test_what_is_not_known_gets_keys_of_its_own(log, data):
    keys = spelled(log)
    known = [data.draw(st.integers(0, len(request))) for request in keys]
    blocks = [own + data.draw(st.integers(0, 3)) for own in known]
    found = with_unknown(as_runs(log), np.array(known, np.int64), np.array(blocks, np.int64), 100)
    unknown = iter(range(100, 200))
    expected = [
        [*request[:own], *(next(unknown) for _ in range(size - own))]
        for request, own, size in zip(keys, known, blocks, strict=True)
    ]
    assert [found.tolist() for found in keys_by_request(found)] == expected
