"""Which fields a user's function makes its key of, found by changing them one at a time.

A few requests of the log are asked about again in a process of its own: a key that is another one
there holds a clock, a random number or Python's own hash. Where it is the same, each field is
given another request's value, and if the key changes the field reaches it. A field that all
requests leave out, or that counts only beside rare values of others, may be missed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kvaudit.core.errors import InputError
from kvaudit.core.foreign import ForeignFunction

TRIES = 3
"""Requests in which a field is changed before it counts as left out of the key."""
SAMPLES = 32
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reach:
    """What a function's key is made of."""

    stable: bool
    fields: tuple[str, ...]
    """Empty where the key is not stable: then any change would be put down to a field."""


def reach_of(name: str, rows: Sequence[Row], keys: Sequence[str]) -> Reach:
    """Ask about requests again; ``keys`` are what the function gave for them before."""
    with ForeignFunction(name) as again:
        try:
            stable = all(again(row) == key for row, key in zip(rows, keys, strict=True))
        except InputError:
            stable = False
    if not stable or not rows:
        return Reach(stable, ())
    asked = _Asked(name)
    try:
        fields = [field for field in rows[0] if asked.depends(field, rows, keys)]
    finally:
        asked.close()
    return Reach(True, tuple(fields))


class _Asked:
    """The function, started again after a request that it cannot take."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._function: ForeignFunction | None = None

    def depends(self, field: str, rows: Sequence[Row], keys: Sequence[str]) -> bool:
        return any(self._key(row) != keys[number] for number, row in _changed(field, rows))

    def _key(self, row: Row) -> object:
        if self._function is None:
            self._function = ForeignFunction(self._name)
        try:
            return self._function(row)
        except InputError:
            self.close()
            return None  # it took the request as it was, so it looked at the field

    def close(self) -> None:
        if self._function is not None:
            self._function.close()
        self._function = None


def _changed(field: str, rows: Sequence[Row]) -> Iterator[tuple[int, Row]]:
    """Yield requests with another value of a field, and their numbers."""
    values = [row[field] for row in rows if row[field] is not None]
    tried = 0
    for number, row in enumerate(rows):
        if row[field] is None or tried == TRIES:
            continue
        others = (value for value in values if value != row[field])
        value = next(others, None)
        yield number, {**row, field: _other(row[field]) if value is None else value}
        tried += 1


def _other(value: Any) -> Any:
    """Return a value of the same kind that is not this one."""
    if isinstance(value, str):
        return value + "~"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value + 1
    return None
