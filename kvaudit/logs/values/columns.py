"""Fields that logs write under many names, found by going once over what a record has.

A table of names is asked for the few names in the record and not the record for the dozens in
the table, which for a large log is the difference between reading and waiting.
"""

from collections.abc import Callable
from typing import Any

from kvaudit.core.requests import Json
from kvaudit.logs.format import Fields

Reader = Callable[[Any], Any]


class Columns:
    """Names under which a record may have each field, and how a value is read."""

    def __init__(self, **fields: tuple[Reader, *tuple[str, ...]]) -> None:
        """Take for each field its reader and its names, the most telling name first."""
        self._places = {
            name: (field, rank, read)
            for field, (read, *names) in fields.items()
            for rank, name in enumerate(names)
        }

    def read(self, record: Json) -> Fields:
        """Return what the record says; a value that cannot be read says nothing.

        Of several names for one field the first of the table counts, not of the record.
        """
        found: dict[str, tuple[int, Any]] = {}
        for name, value in record.items():
            place = self._places.get(name)
            if place is None or value is None:
                continue
            field, rank, read = place
            if field in found and found[field][0] < rank:
                continue
            result = read(value)
            if result is not None:
                found[field] = (rank, result)
        return {field: value for field, (_, value) in found.items()}
