"""Points in time as logs write them, turned into seconds of the Unix epoch.

A number is taken for seconds, milliseconds, microseconds or nanoseconds by its magnitude,
which is safe for points in time between 1973 and 5138. Times that count from the start of a
log are not epochs; formats that have them convert on their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime

from kvaudit.logs.format import BadRecord

# Upper limit of the numbers that each unit explains, and the unit.
_UNITS = ((1e11, 1.0, "seconds"), (1e14, 1e3, "milliseconds"), (1e17, 1e6, "microseconds"))
_NANO = (math.inf, 1e9, "nanoseconds")

# ISO 8601 without dashes, nginx's $time_local, spellings of databases, mail and HTTP dates.
_READERS: tuple[Callable[[str], datetime], ...] = (
    datetime.fromisoformat,
    lambda text: datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z"),
    lambda text: datetime.strptime(text, "%Y-%m-%d %H:%M:%S %Z"),
    lambda text: datetime.strptime(text, "%Y/%m/%d %H:%M:%S"),
    parsedate_to_datetime,
)


def epoch_seconds(value: object, name: str = "timestamp") -> float | None:
    """Return a point in time in epoch seconds, or None where there is none.

    Takes ISO 8601 (UTC where no zone is given), the usual server spellings, `datetime`, and
    epoch numbers or digits in any unit. Raises `BadRecord` for anything else.
    """
    if value is None or value == "":
        return None
    if isinstance(value, str):
        # Only with dashes: a run of digits may be an epoch number and a compact date at once.
        if value[4:5] == "-":
            try:
                return _seconds_of(datetime.fromisoformat(value))
            except ValueError:
                pass
        return _from_text(value.strip(), name)
    if isinstance(value, datetime):
        return _seconds_of(value)
    if isinstance(value, date):
        return _seconds_of(datetime(value.year, value.month, value.day))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _from_number(value, name)
    raise BadRecord(f"{name} is not a point in time")


def after(moment_s: float | None, elapsed_s: float | None) -> float | None:
    """Return the time so many seconds after a moment; None where either is not known."""
    return None if moment_s is None or elapsed_s is None else moment_s + elapsed_s


def epoch_unit(value: object) -> str:
    """Return how `epoch_seconds` reads a value it accepts: its unit, or "date and time"."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return "date and time"
    if isinstance(value, (int, float)):
        return "epoch " + _unit(value)[2]
    return "date and time"


def _unit(value: float) -> tuple[float, float, str]:
    size = abs(value)
    return next((unit for unit in _UNITS if size < unit[0]), _NANO)


def _from_number(value: float, name: str) -> float | None:
    if isinstance(value, int) and value.bit_length() > 64:
        raise BadRecord(f"{name} is too large a number")
    if math.isnan(value):
        return None
    if math.isinf(value):
        raise BadRecord(f"{name} is infinite")
    return value / _unit(value)[1]


def _from_text(text: str, name: str) -> float | None:
    try:
        return _from_number(float(text), name)
    except ValueError:
        pass
    for read in _READERS:
        try:
            return _seconds_of(read(text))
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    raise BadRecord(f"{name} is not a point in time", text)


def _seconds_of(moment: datetime) -> float:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()
