"""JSON lines: one object a line."""

from __future__ import annotations

import json
from collections.abc import Iterable

import orjson

from kvaudit.core.errors import InputError
from kvaudit.logs.containers import Records
from kvaudit.logs.containers.lines import MAX_LINE_BYTES, Lines, TooLong
from kvaudit.logs.format import BadRecord, Row
from kvaudit.logs.source import Source


def read(source: Source, *, max_line_bytes: int = MAX_LINE_BYTES) -> Records:
    """Yield the objects of a JSON lines file; empty lines are no records."""
    return read_rest(source, source.chunks(), max_line_bytes=max_line_bytes)


def read_rest(
    source: Source,
    chunks: Iterable[bytes],
    first: int = 1,
    *,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Records:
    """Yield the objects of what is left of a file, from line ``first`` on."""
    lines = Lines(chunks, max_line_bytes)
    parse = orjson.loads
    for number, line in enumerate(lines, first):
        try:
            row = parse(line)
        except orjson.JSONDecodeError as error:
            if not line.strip():
                continue
            row = _second_look(line, error)
            if lines.unterminated and type(row) is BadRecord:
                raise _cut_off(source, number) from None
        if type(row) is dict or type(row) is BadRecord:
            yield number, row
        else:
            yield number, BadRecord(f"a JSON {_KINDS.get(type(row), 'value')}, not an object")


_KINDS = {list: "list", str: "text", int: "number", float: "number", type(None): "null"}


def _cut_off(source: Source, number: int) -> InputError:
    return InputError(
        f"{source.name} is cut off: it ends in the middle of line {number}; copy the file again, "
        "or remove that line if the log is still being written"
    )


def _second_look(line: bytes, error: orjson.JSONDecodeError) -> Row | BadRecord:
    """Return the object after all where only NaN or infinity is amiss, else the reason."""
    if isinstance(line, TooLong):
        return line.reason()
    try:
        line.decode()
    except UnicodeDecodeError as bad:
        return BadRecord(f"not valid UTF-8 at byte {bad.start + 1}")
    if b"\x00" in line:
        return BadRecord("NUL bytes, as a crash leaves them in a file")
    # Python's json writes these three words, which are not JSON; they mean that a value is missing.
    if b"NaN" in line or b"Infinity" in line:
        try:
            return _without_surrogates(json.loads(line, parse_constant=lambda _: None))
        except (ValueError, RecursionError):
            pass
    return BadRecord(f"not JSON: {error.msg} at column {error.colno}")


def _without_surrogates(row: Row) -> Row | BadRecord:
    # Unlike orjson, json lets half a surrogate pair through, which no tokenizer can encode.
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return BadRecord("half a surrogate pair, which is not Unicode text")
    return row
