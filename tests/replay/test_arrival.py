"""Whatever the order of the file, requests come out by arrival, ties in file order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvaudit.core.errors import InputError
from kvaudit.core.requests import Request
from kvaudit.replay import arrival
from kvaudit.replay.arrival import OutOfOrder, in_window, sort_all
from kvaudit.replay.prompts import Prompts

times = st.lists(st.one_of(st.none(), st.integers(0, 6).map(float)), min_size=1, max_size=40)


def log(arrivals: list[float | None]) -> list[Request]:
    return [
        Request(id=f"r{i}", arrived_s=t, token_ids=list(range(i % 5 + 1)))
        for i, t in enumerate(arrivals)
    ]


def batches_of(requests: list[Request], size: int):
    for start in range(0, len(requests), size):
        yield from Prompts(requests[start : start + size], encoder=lambda: None)


def expected(requests: list[Request]) -> list[str]:
    known, latest = [], -np.inf
    for request in requests:
        latest = latest if request.arrived_s is None else request.arrived_s
        known.append(latest)
    return [requests[i].id for i in np.argsort(known, kind="stable")]


@given(times, st.integers(1, 7))
def test_a_log_in_any_order_is_sorted_on_disk(arrivals, size):
    requests = log(arrivals)
    out = list(sort_all(batches_of(requests, size)))
    assert [f.id for b in out for f in b.requests] == expected(requests)
    by_id = {r.id: r for r in requests}
    for batch in out:
        for i, facts in enumerate(batch.requests):
            units = batch.units[batch.offsets[i] : batch.offsets[i + 1]]
            assert units.tolist() == by_id[facts.id].token_ids


@given(times, st.integers(1, 7), st.integers(1, 9))
def test_a_window_sorts_or_says_that_it_cannot(arrivals, size, window):
    requests = log(arrivals)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrival, "WINDOW_REQUESTS", window)
        try:
            out = [f.id for b in in_window(batches_of(requests, size)) for f in b.requests]
        except OutOfOrder:
            in_order = [r.arrived_s for r in requests if r.arrived_s is not None]
            assert in_order != sorted(in_order)
        else:
            assert out == expected(requests)


def test_a_large_log_written_at_completion_needs_no_disk():
    requests = log([float(i + (7 * i) % 50) for i in range(3000)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrival, "WINDOW_REQUESTS", 100)
        out = [f.id for b in in_window(batches_of(requests, 64)) for f in b.requests]
    assert out == expected(requests)


def test_newest_first_beyond_the_window_is_reported():
    requests = log([float(-i) for i in range(500)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrival, "WINDOW_REQUESTS", 100)
        with pytest.raises(OutOfOrder):
            list(in_window(batches_of(requests, 64)))


def test_a_full_disk_says_where_and_what_to_do(monkeypatch):
    def full(*args, **options):
        return open("/dev/full", "wb")

    monkeypatch.setattr(arrival.tempfile, "TemporaryFile", full)
    with pytest.raises(InputError, match=r"has no room for the log, .* set TMPDIR"):
        list(sort_all(batches_of(log([1.0, 0.0]), 1)))
