"""kvaudit's own record, written as JSON lines or Parquet; it reads back equal.

A field that is None is left out, but ``arrived_s`` is always there, since readers know the
record by it.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import orjson

from kvaudit.core.errors import InputError, UsageError
from kvaudit.core.extras import load
from kvaudit.core.output import replacing, replacing_path
from kvaudit.core.requests import Request, Status
from kvaudit.logs.api.media import find_media
from kvaudit.logs.format import Row

_FIELDS = Request.record_fields()
# Written as texts that hold JSON where a column can have only one type.
_JSON_FIELDS = frozenset({"messages", "tools", "response_format", "cache_options"})
_ROWS_A_GROUP = 4096
_GROUP_BYTES = 64 << 20


def check_suffix(path: Path, *, option: str = "-o") -> None:
    """Raise `UsageError` where the name does not say what to write."""
    if path.suffix != ".parquet" and _compression(path) is None:
        raise UsageError(
            f"{option} {path}: the name must end in .parquet, .jsonl, .jsonl.gz or .jsonl.zst"
        )


def write_records(requests: Iterable[Request], path: Path) -> None:
    """Write requests as kvaudit's record, in the container that the name of ``path`` says."""
    if path.suffix == ".parquet":
        _write_parquet(requests, path)
    else:
        write_lines((as_row(request) for request in requests), path)


def as_row(request: Request) -> Row:
    """Return the record of a request, as JSON has it."""
    row: Row = {"id": request.id, "arrived_s": request.arrived_s}
    for name in _FIELDS[2:]:
        value = getattr(request, name)
        if value is None or value == () or value == frozenset() or value is Status.UNKNOWN:
            continue
        row[name] = _as_json(value)
    if not request.media_hashes and find_media(request.messages or ()):
        row["media_hashes"] = []  # said outright, or a reader would look for them itself
    return row


def write_lines(rows: Iterable[Row], path: Path) -> None:
    """Write JSON lines, compressed as the name of ``path`` says."""
    with replacing(path) as file, _compressed(file, _compression(path) or "") as out:
        for row in rows:
            out.write(_line(row))


def _line(row: Row) -> bytes:
    try:
        return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # integers of more than 64 bits, half a surrogate pair
        return json.dumps(row, separators=(",", ":")).encode() + b"\n"


def _as_json(value: Any) -> Any:
    if hasattr(value, "tolist"):  # arrays, which hold most ids
        return value.tolist()
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, Sequence) and not isinstance(value, (str, list)):
        return list(value)
    return value


def _compression(path: Path) -> str | None:
    """Return "", "gz" or "zst" for JSON lines, None for any other name."""
    for compression in ("", "gz", "zst"):
        ending = f".{compression}" if compression else ""
        if path.name.endswith((f".jsonl{ending}", f".ndjson{ending}")):
            return compression
    return None


@contextmanager
def _compressed(file: IO[bytes], compression: str) -> Iterator[Any]:
    if compression == "gz":
        # No name and no time in the header: the same input gives the same bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as out:
            yield out
    elif compression == "zst":
        zstandard = load("zstandard", extra="replay")
        with zstandard.ZstdCompressor().stream_writer(file, closefd=False) as out:
            yield out
    else:
        yield file


def _write_parquet(requests: Iterable[Request], path: Path) -> None:
    pyarrow = load("pyarrow", extra="replay")
    parquet = load("pyarrow.parquet", extra="replay")
    schema = _schema(pyarrow)
    with (
        replacing_path(path) as place,
        parquet.ParquetWriter(place, schema, compression="zstd") as writer,
    ):
        for rows in _groups(requests):
            try:
                table = pyarrow.Table.from_pylist(rows, schema=schema)
            except (pyarrow.ArrowException, OverflowError, UnicodeError) as error:
                raise InputError(
                    f"{path}: a request has a value that Parquet cannot hold "
                    f"({str(error).splitlines()[0]}); write .jsonl instead"
                ) from None
            writer.write_table(table)


def _groups(requests: Iterable[Request]) -> Iterator[list[Row]]:
    rows: list[Row] = []
    size = 0
    for request in requests:
        row = as_row(request)
        for name in _JSON_FIELDS & row.keys():
            if not isinstance(row[name], str):
                row[name] = _line(row[name]).decode().rstrip("\n")
                size += len(row[name])
        size += len(row.get("prompt", "")) + 4 * len(row.get("token_ids", ()))
        rows.append(row)
        if len(rows) == _ROWS_A_GROUP or size > _GROUP_BYTES:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


def _schema(pyarrow: Any) -> Any:
    """Return one column a field of the record, under its name."""
    integers = (
        *("block_tokens", "prompt_tokens", "output_tokens", "max_tokens", "cached_tokens"),
        *("cache_write_5m_tokens", "cache_write_1h_tokens", "arrive_step", "priority"),
    )
    kinds = {
        **dict.fromkeys(("arrived_s", "finished_s", "ttft_s", "temperature", "top_p"), "float64"),
        **dict.fromkeys(integers, "int64"),
        "response_cache_hit": "bool_",
    }
    lists = {
        **dict.fromkeys(("token_ids", "output_ids"), "int32"),
        **dict.fromkeys(("media_hashes", "marks"), "string"),
        "block_ids": "int64",
    }
    columns = []
    for name in _FIELDS:
        if name in lists:
            kind = pyarrow.list_(getattr(pyarrow, lists[name])())
        elif name == "seed":
            kind = pyarrow.decimal128(20, 0)  # both signed and unsigned 64-bit seeds are in use
        else:
            kind = getattr(pyarrow, kinds.get(name, "string"))()
        columns.append((name, kind))
    return pyarrow.schema(columns)
