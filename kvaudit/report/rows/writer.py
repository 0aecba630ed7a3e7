"""One row a request, written in batches while a replay runs.

The kind of file follows from its suffix, which names a module of this package. A column that a
run does not have is null in every row. The file appears under its name once all is written.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from kvaudit.core.errors import UsageError
from kvaudit.core.output import check_writable, replacing_path
from kvaudit.report import rows

COLUMNS: Mapping[str, type] = {
    "id": str,
    "admitted": bool,
    "prompt_tokens": int,
    "cached_tokens": int,
    "resumed_cached_tokens": int,
    "l1_tokens": int,
    "l2_tokens": int,
    "l3_tokens": int,
    "evicted_blocks": int,
    "instance": str,
    "semantic_hit": bool,
    "semantic_donor": str,
    "similarity": float,
    "false_hit": bool,
    "flops": float,
    "saved_flops": float,
    "ttft_s": float,
    "block_keys": list,
}
"""Every column and the type of its values, in the order they are written."""


class Rows(Protocol):
    """A file of rows that is being written."""

    def write(self, columns: Mapping[str, Sequence[Any]], count: int) -> None:
        """Add ``count`` rows; every name is one of `COLUMNS`."""

    def close(self) -> None:
        """Write what is left and close the file."""


def check_path(path: Path) -> str:
    """Return the kind of file that ``path`` asks for, or say why there is none."""
    kinds = sorted(m.name for m in pkgutil.iter_modules(rows.__path__) if m.name != "writer")
    kind = path.suffix.removeprefix(".")
    if kind not in kinds:
        wanted = " or ".join(f".{name}" for name in kinds)
        raise UsageError(f"--per-request {path}: the file name must end in {wanted}")
    check_writable(path, option="--per-request")
    return kind


class RowWriter:
    """Writes per-request results; a context manager that keeps the file only on success."""

    def __init__(self, path: Path) -> None:
        """Choose the format by the suffix of ``path``; nothing is written yet."""
        self._path = path
        self._kind = check_path(path)
        self._files = ExitStack()
        self._rows: Rows | None = None

    def __enter__(self) -> Self:
        """Open the file."""
        place = self._files.enter_context(replacing_path(self._path))
        module = importlib.import_module(f"kvaudit.report.rows.{self._kind}")
        self._rows = module.open_rows(place)
        return self

    def write(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Add one batch: columns by name, all of one length; arrays or lists."""
        assert columns.keys() <= COLUMNS.keys()
        assert self._rows is not None
        lengths = {len(values) for values in columns.values()}
        assert len(lengths) == 1
        self._rows.write({name: _plain(values) for name, values in columns.items()}, lengths.pop())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file, and put it in its place unless there was an error."""
        assert self._rows is not None
        try:
            self._rows.close()
        except BaseException as failed:
            self._files.__exit__(type(failed), failed, failed.__traceback__)
            raise
        self._files.__exit__(kind, error, trace)


def _plain(values: Sequence[Any]) -> Sequence[Any]:
    """Return Python values: an array gives them all at once."""
    to_list = getattr(values, "tolist", None)
    plain: Sequence[Any] = values if to_list is None else to_list()
    return [_encodable(v) if isinstance(v, str) else v for v in plain]


def _encodable(text: str) -> str:
    """Return ``text`` with lone surrogates as escapes: neither format can hold them."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
