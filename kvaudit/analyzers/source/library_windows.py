"""Windows over the history that libraries offer: the table ``library_windows.toml``, looked up."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from kvaudit.analyzers.source.windows import MIN_KEPT

_TABLE = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True, slots=True)
class LibraryWindow:
    """What keeps the newest messages only."""

    called: str
    limit: str
    source: str
    default: str | None = None
    messages: int = 0
    """How many messages one of the limit stands for; 0 where it counts tokens."""
    off: Mapping[str, str] = field(default_factory=dict)

    def slides(self, given: Mapping[str, str]) -> bool:
        """Whether it is one under these arguments, which are as they are written."""
        limit = given.get(self.limit, self.default)
        if limit in (None, "None", "null", "undefined"):
            return False
        if any(given.get(name, "").strip("\"'") == off for name, off in self.off.items()):
            return False
        return not (limit.isdigit() and 0 < int(limit) * self.messages < MIN_KEPT)


@cache
def _windows(language: str) -> tuple[tuple[re.Pattern[str], LibraryWindow], ...]:
    rows = tomllib.loads(_TABLE.read_text("utf-8"))[language]
    return tuple((re.compile(row["called"]), LibraryWindow(**row)) for row in rows)


@cache
def library_window(language: str, called: str) -> LibraryWindow | None:
    """Return the window that a call of this name makes, in ``python`` or ``ecmascript``."""
    return next((row for pattern, row in _windows(language) if pattern.fullmatch(called)), None)
