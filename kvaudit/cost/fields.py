"""Fields of a config.json, read one by one: by any of their names, checked, with defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kvaudit.core.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The fields of one model, and what its family's code assumes where the file is silent."""

    given: Mapping[str, Any]
    source: str
    """The file, for error messages."""
    purpose: str = "the KV size needs it"
    """Why a field is read, as the end of the sentence that says it is missing."""
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def first(self, *names: str) -> Any:
        """Return the field under the first of ``names`` that is there and not null, or None.

        A field of the file stands before any default, whichever of its names it bears, and so
        does a null.
        """
        for name in names:
            if self.given.get(name) is not None:
                return self.given[name]
        if any(name in self.given for name in names):
            return None
        return next((self.defaults[name] for name in names if name in self.defaults), None)

    def count(self, *names: str, default: int | None = None) -> int:
        """Return a positive whole number, or raise `UsageError` with the first of ``names``."""
        value = self.first(*names)
        if value is None and default is not None:
            return default
        if value is None:
            raise UsageError(f"{self.source}: the field {names[0]} is missing, and {self.purpose}")
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise UsageError(
                f"{self.source}: {self._name(names)} = {value!r} is not a positive whole number"
            )
        return value

    def size(self, *names: str) -> int:
        """Return a whole number that may be 0, which also stands for a field that is missing."""
        value = self.first(*names)
        return 0 if value in (None, False, 0) else self.count(*names)

    def numbers(self, name: str) -> list[int]:
        """Return a list of layer numbers; a missing field is an empty one."""
        value = self.first(name)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(n, int) for n in value):
            raise UsageError(f"{self.source}: {name} = {value!r} is not a list of whole numbers")
        return value

    def flag(self, *names: str, default: bool = False) -> bool:
        """Return a field that is true or false."""
        value = self.first(*names)
        return default if value is None else bool(value)

    def _name(self, names: tuple[str, ...]) -> str:
        return next((name for name in names if self.given.get(name) is not None), names[0])
