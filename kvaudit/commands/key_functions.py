"""Keys that the user's own functions make: `kvaudit keys --key MODULE:FUNCTION`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvaudit.core.errors import InputError
from kvaudit.core.foreign import CALL_LIMIT_S, ForeignFunction
from kvaudit.core.requests import Request

if TYPE_CHECKING:
    from kvaudit.analyzers.keys.logged.reach import Reach


class UserKey:
    """A function of the user's that makes a key of a record."""

    def __init__(self, name: str, limit_s: float = CALL_LIMIT_S) -> None:
        """Start its process."""
        self.name = name
        self._function = ForeignFunction(name, limit_s=limit_s)
        self._rows: list[dict[str, Any]] = []
        self._keys: list[str] = []

    def __call__(self, request: Request) -> str:
        """Return a request's key. Raises `InputError` where the function gives none."""
        from kvaudit.analyzers.keys.logged.reach import SAMPLES

        row = whole_row(request)
        try:
            key = self._function(row)
        except InputError as error:
            raise InputError(f"{error} (for request {request.id})") from None
        if not isinstance(key, str):
            raise InputError(
                f"{self.name}: gives {type(key).__name__} for request {request.id}; a key is a "
                "str or bytes"
            )
        if len(self._rows) < SAMPLES:
            self._rows.append(row)
            self._keys.append(key)
        return key

    def reach(self) -> Reach:
        """Return what its keys are made of."""
        from kvaudit.analyzers.keys.logged.reach import reach_of

        return reach_of(self.name, self._rows, self._keys)

    def close(self) -> None:
        """End its process."""
        self._function.close()


def whole_row(request: Request) -> dict[str, Any]:
    """Return a record with all its fields, None where the log has none."""
    from kvaudit.logs.writing.records import as_row

    return {**dict.fromkeys(Request.record_fields()), **as_row(request)}
