"""Points in time as logs write them, against the same moment computed by hand."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvaudit.logs.format import BadRecord
from kvaudit.logs.values.times import epoch_seconds, epoch_unit

NINE = 1793523600.0  # 2026-11-01 09:00 UTC


@pytest.mark.parametrize(
    "value",
    [
        1793523600,
        1793523600.0,
        1793523600000,
        1793523600000000,
        1793523600000000000,
        "1793523600",
        "1793523600000.0",
        "2026-11-01T09:00:00Z",
        "2026-11-01 09:00:00.0000000",
        "2026-11-01 09:00:00 UTC",
        "2026-11-01T10:00:00+01:00",
        "2026-11-01T09:00:00+0000",
        "20261101T090000Z",
        "01/Nov/2026:10:00:00 +0100",
        "Sun, 01 Nov 2026 09:00:00 GMT",
        datetime(2026, 11, 1, 9),
        datetime(2026, 11, 1, 10, tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_one_moment_in_many_spellings(value):
    assert epoch_seconds(value) == NINE


def test_dates_fractions_and_missing_values():
    assert epoch_seconds(date(2026, 11, 1)) == NINE - 9 * 3600
    assert epoch_seconds("2026-11-01T09:00:00.4Z") == NINE + 0.4
    assert epoch_seconds(None) is epoch_seconds("") is epoch_seconds(float("nan")) is None


@pytest.mark.parametrize(
    "value", ["yesterday", True, [], {}, "inf", float("inf"), "1" * 500, 10**400, b"1"]
)
def test_what_is_no_time(value):
    with pytest.raises(BadRecord, match="started is"):
        epoch_seconds(value, "started")


@pytest.mark.parametrize(
    ("value", "unit"),
    [
        (1793523600, "epoch seconds"),
        ("1793523600000", "epoch milliseconds"),
        (1793523600000000, "epoch microseconds"),
        (1793523600000000000, "epoch nanoseconds"),
        ("2026-11-01", "date and time"),
        (datetime(2026, 1, 1, tzinfo=UTC), "date and time"),
    ],
)
def test_the_unit_is_named(value, unit):
    assert epoch_unit(value) == unit


@given(st.text() | st.floats() | st.integers() | st.binary())
def test_nothing_but_a_bad_record_is_raised(value):
    try:
        seconds = epoch_seconds(value)
    except BadRecord:
        return
    assert seconds is None or isinstance(seconds, float)
