"""Per-request rows as JSON lines."""

from collections.abc import Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

from kvaudit.core.extras import load
from kvaudit.report.rows.writer import COLUMNS, Rows


class _JsonLines:
    def __init__(self, path: Path) -> None:
        self._dumps = load("orjson", extra="replay").dumps
        self._file = path.open("wb")

    def write(self, columns: Mapping[str, Sequence[Any]], count: int) -> None:
        ordered = [columns.get(name, repeat(None, count)) for name in COLUMNS]
        for values in zip(*ordered, strict=True):
            self._file.write(self._dumps(dict(zip(COLUMNS, values, strict=True))) + b"\n")

    def close(self) -> None:
        self._file.close()


def open_rows(path: Path) -> Rows:
    """Begin a file at ``path``."""
    return _JsonLines(path)
