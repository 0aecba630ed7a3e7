"""Any table or JSON log, by a mapping from the record's fields to places in a row.

A place is a dotted path; a text that holds JSON is opened on the way, a number picks an item
of a list, and a key that has dots in it is found as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean
from kvaudit.core.requests import Request
from kvaudit.core.summaries import Note
from kvaudit.logs.format import BadRecord, LogFormat, Parser, Row, Sureness
from kvaudit.logs.formats.record import READ, to_request
from kvaudit.logs.values.times import epoch_seconds, epoch_unit

_TIMES = ("arrived_s", "finished_s")


def mapped(mapping: Mapping[str, str]) -> LogFormat:
    """Return the format of a table by ``mapping``, the record's fields to paths in a row."""
    for field, path in mapping.items():
        if field not in READ:
            raise UsageError(
                f"--map {field}={path}: a record has no field {field}{did_you_mean(field, READ)}"
            )
    return LogFormat(
        name="table",
        title=FORMAT.title,
        recognise=lambda row: Sureness(
            any(_found(row, path) is not None for path in mapping.values())
        ),
        parser=lambda: _MappedRows(mapping),
    )


class _MappedRows:
    """Reads rows by the mapping, and tells which of its paths were never found."""

    def __init__(self, mapping: Mapping[str, str]) -> None:
        self._mapping = mapping
        self._missing = dict(mapping)
        self._units: dict[str, str] = {}
        self.skipped: Counter[str] = Counter()
        self.notes: list[Note] = []

    def parse(self, row: Row) -> Iterable[Request]:
        found: dict[str, Any] = {}
        for field, path in self._mapping.items():
            value = _found(row, path)
            if value is None:
                continue
            self._missing.pop(field, None)
            if field in _TIMES:
                self._units.setdefault(field, epoch_unit(value))
                value = epoch_seconds(value, path)
            found[field] = value
        if not found:
            raise BadRecord(f"it has none of {', '.join(self._mapping.values())}")
        return (to_request(found),)

    def finish(self) -> Iterable[Request]:
        for field, path in self._missing.items():
            text = f"no record has {path}, which --map names for {field}; check the path"
            self.notes.append(Note(topic="mapping", text=text))
        for field, unit in self._units.items():
            text = f"{self._mapping[field]} is read as {unit}, from the size of its first value"
            self.notes.append(Note(topic="time-unit", text=text))
        return ()


def _found(value: Any, path: str) -> Any:
    """Return what stands at ``path``, or None."""
    while path:
        if isinstance(value, str):
            try:
                value = orjson.loads(value)
            except orjson.JSONDecodeError:
                return None
        if isinstance(value, list):
            step, _, path = path.partition(".")
            index = int(step) if step.isdecimal() else len(value)
            value = value[index] if index < len(value) else None
        elif isinstance(value, dict):
            value, path = _step(value, path)
        else:
            return None
    return value


def _step(place: dict[str, Any], path: str) -> tuple[Any, str]:
    """Return the value under the longest beginning of ``path`` that is a key, and the rest."""
    key = path
    while key not in place:
        key, dot, _ = key.rpartition(".")
        if not dot:
            return None, ""
    return place[key], path[len(key) + 1 :]


def _unmapped() -> Parser:
    raise UsageError("--input-format table needs --map, for example --map prompt=body.text")


FORMAT = LogFormat(
    name="table",
    title="any CSV, Parquet or JSON log, with --map FIELD=PATH for each field",
    recognise=lambda _: Sureness.NO,
    parser=_unmapped,
)
