"""Parquet, streamed: a few megabytes of rows at a time, nested values as JSON would have them.

Parquet fills the keys that an object lacks with nulls, since all rows have one schema. Inside
nested values nulls are therefore left out again: a message without tool calls had no such key.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any

from kvaudit.core.errors import InputError
from kvaudit.core.extras import load
from kvaudit.logs.containers import Records
from kvaudit.logs.source import Source

MAGIC = b"PAR1"
_BATCH_BYTES = 8 << 20
# Columns that may have a million integers a row; as Python lists they would be ten times as
# large, and take longer to read than all the rest.
_PACKED = {"token_ids": "i", "output_ids": "i", "block_ids": "q"}


def read(source: Source) -> Records:
    """Yield the rows of a Parquet file, numbered from 1; raises `InputError` if it is damaged."""
    pyarrow = load("pyarrow", extra="replay")
    parquet = load("pyarrow.parquet", extra="replay")
    try:
        yield from _rows(source, pyarrow, parquet)
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0][:200]
        raise InputError(
            f"{source.name} is a Parquet file that is damaged or cut off ({reason}); "
            "copy it again, or write it again"
        ) from None


def _rows(source: Source, pyarrow: Any, parquet: Any) -> Records:
    # Without pre-buffering and with a small buffer, a row group is read page by page: some
    # writers put a whole table into one group.
    with parquet.ParquetFile(source.path, buffer_size=1 << 20, pre_buffer=False) as file:
        rows = max(1, file.metadata.num_rows)
        size = sum(file.metadata.row_group(i).total_byte_size for i in range(file.num_row_groups))
        number = 0
        for batch in file.iter_batches(max(1, min(65_536, _BATCH_BYTES * rows // max(size, 1)))):
            names = batch.schema.names
            columns = [_values(batch.column(i), name, pyarrow) for i, name in enumerate(names)]
            for values in zip(*columns, strict=True):
                number += 1
                yield number, dict(zip(names, values, strict=True))
            source.bytes_read = source.size_bytes * number // rows
            source.bytes_out += batch.nbytes
    source.bytes_read = source.size_bytes


def _values(column: Any, name: str, pyarrow: Any) -> list[Any]:
    kind = column.type
    types = pyarrow.types
    if name in _PACKED and _is_list(kind, types) and types.is_integer(kind.value_type):
        return list(_packed(column, _PACKED[name]))
    if types.is_timestamp(kind) and kind.unit == "ns":
        # Python's datetime has microseconds; what is cut off is no news to a replay.
        column = column.cast(pyarrow.timestamp("us", tz=kind.tz), safe=False)
    values: list[Any] = column.to_pylist(maps_as_pydicts="lossy")
    if types.is_nested(kind):
        return [_without_nulls(value) for value in values]
    if types.is_binary(kind) or types.is_large_binary(kind):
        return [_decoded(value) for value in values]
    if types.is_decimal(kind):
        number = int if kind.scale == 0 else float
        return [None if value is None else number(value) for value in values]
    return values


def _decoded(value: bytes | None) -> str | bytes | None:
    """Return bytes as text if they are: Spark and Impala used to write texts without saying so."""
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return value


def _is_list(kind: Any, types: Any) -> bool:
    return bool(types.is_list(kind) or types.is_large_list(kind))


def _packed(column: Any, code: str) -> Iterator[array[int] | None]:
    """Yield each row's integers as one array, cut from the column's buffer."""
    values = column.values.to_numpy(zero_copy_only=False)
    offsets = column.offsets.to_numpy()
    if column.values.null_count or not _fits(values, code):
        yield from column.to_pylist()
        return
    for row, valid in enumerate(column.is_valid().to_pylist()):
        if not valid:
            yield None
            continue
        cut = values[offsets[row] : offsets[row + 1]]
        yield array(code, cut.astype({"i": "<i4", "q": "<i8"}[code]).tobytes())


def _fits(values: Any, code: str) -> bool:
    if code == "q" or not len(values):
        return True
    return bool(values.min() >= -(2**31) and values.max() < 2**31)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
