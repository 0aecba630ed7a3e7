"""JSON lines of a trace of block hashes: in columns where a line holds nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from kvaudit.core.hash_rows import RowScan
from kvaudit.logs.containers import RecordsAndRows, jsonl
from kvaudit.logs.source import CHUNK_BYTES, Source

_SMALL_BYTES = CHUNK_BYTES
"""A file below is read sooner than a scan is loaded."""
_PIECE_BYTES = 4 << 20
_LINES = 64
"""So many are read as objects before the scan is asked again, which costs as much as some."""


def read(source: Source, scan: RowScan) -> RecordsAndRows:
    """Yield all of a JSON lines file; a line that the scan leaves is an object, as of `jsonl`."""
    chunks = source.chunks()
    line, rest = 1, b""
    while True:
        text = _piece(rest, chunks)
        if (line == 1 and len(text) < _SMALL_BYTES) or b"\n" not in text:
            break
        end = text.rindex(b"\n") + 1
        at = 0
        while at < end:
            rows, at = scan(text, at, end)
            if rows.requests:
                yield line, rows
                line += rows.requests
            if at < end:
                lines, following = _few_lines(text, at, end)
                yield from jsonl.read_rest(source, (text[at:following],), line)
                line, at = line + lines, following
        rest = text[end:]
    yield from jsonl.read_rest(source, chain((text,), chunks), line)


def _few_lines(text: bytes, at: int, end: int) -> tuple[int, int]:
    """Return how many lines are read next, and where they end."""
    lines = 0
    while lines < _LINES and at < end:
        at = text.index(b"\n", at) + 1
        lines += 1
    return lines, at


def _piece(rest: bytes, chunks: Iterator[bytes]) -> bytes:
    """Return what is left of the text read last, and more, if there is more."""
    parts, size = [rest], len(rest)
    while size < _PIECE_BYTES and (chunk := next(chunks, b"")):
        parts.append(chunk)
        size += len(chunk)
    return b"".join(parts)
