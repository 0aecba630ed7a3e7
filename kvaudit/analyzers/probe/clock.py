"""A clock that stands still, at a time that is given, for everything a process imports later.

Only what tells the time of day is replaced; what measures durations goes on, so that programs
which wait still work. A module that took ``datetime.now`` into a name of its own before this is
called, or reads the clock in compiled code, sees the real time.
"""

from __future__ import annotations

import datetime as datetime_module
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any


class _AnyDate(type):
    """Real dates count as dates of the replaced classes too."""

    def __instancecheck__(cls, value: object) -> bool:
        real = datetime if issubclass(cls, datetime) else date
        return isinstance(value, real)


def set_clock(at_s: float) -> None:
    """Let every clock of this process show one time, in seconds since 1970."""

    class Date(date, metaclass=_AnyDate):
        @classmethod
        def today(cls) -> Any:
            return date.fromtimestamp(at_s)

    class DateTime(datetime, metaclass=_AnyDate):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.fromtimestamp(at_s, tz)

        @classmethod
        def utcnow(cls) -> Any:
            return datetime.fromtimestamp(at_s, UTC).replace(tzinfo=None)

        @classmethod
        def today(cls) -> Any:
            return datetime.fromtimestamp(at_s)

    Date.__name__ = Date.__qualname__ = "date"
    DateTime.__name__ = DateTime.__qualname__ = "datetime"
    replaced: dict[Any, dict[str, Any]] = {
        datetime_module: {"date": Date, "datetime": DateTime},
        time: {
            "time": lambda: at_s,
            "time_ns": lambda: int(at_s * 1_000_000_000),
            **{name: _at(getattr(time, name), at_s) for name in ("localtime", "gmtime", "ctime")},
            "asctime": _of_local(time.asctime, at_s, place=0),
            "strftime": _of_local(time.strftime, at_s, place=1),
        },
    }
    for module, names in replaced.items():
        for name, value in names.items():
            setattr(module, name, value)


def _at(real: Callable[[float], Any], at_s: float) -> Callable[..., Any]:
    return lambda seconds=None: real(at_s if seconds is None else seconds)


def _of_local(real: Callable[..., Any], at_s: float, *, place: int) -> Callable[..., Any]:
    """Give a function the present time where it is called without one."""
    local = time.localtime

    def told(*args: Any) -> Any:
        return real(*args) if len(args) > place else real(*args, local(at_s))

    return told
