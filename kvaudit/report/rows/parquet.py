"""Per-request rows as Parquet, a row group for every ROWS_PER_GROUP rows or so."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kvaudit.core.extras import load
from kvaudit.report.rows.writer import COLUMNS, Rows

ROWS_PER_GROUP = 64 * 1024


class _Parquet:
    def __init__(self, path: Path) -> None:
        self._arrow = load("pyarrow", extra="replay")
        types = {
            str: self._arrow.string(),
            bool: self._arrow.bool_(),
            int: self._arrow.int64(),
            float: self._arrow.float64(),
            list: self._arrow.list_(self._arrow.string()),
        }
        self._schema = self._arrow.schema([(name, types[kind]) for name, kind in COLUMNS.items()])
        self._writer = load("pyarrow.parquet", extra="replay").ParquetWriter(
            path, self._schema, compression="zstd"
        )
        self._batches: list[Any] = []
        self._waiting = 0

    def write(self, columns: Mapping[str, Sequence[Any]], count: int) -> None:
        arrays = [
            self._arrow.array(columns.get(field.name, [None] * count), field.type)
            for field in self._schema
        ]
        self._batches.append(self._arrow.record_batch(arrays, schema=self._schema))
        self._waiting += count
        if self._waiting >= ROWS_PER_GROUP:
            self._flush()

    def _flush(self) -> None:
        self._writer.write_table(self._arrow.Table.from_batches(self._batches, self._schema))
        self._batches = []
        self._waiting = 0

    def close(self) -> None:
        if self._waiting:
            self._flush()
        self._writer.close()


def open_rows(path: Path) -> Rows:
    """Begin a file at ``path``."""
    return _Parquet(path)
