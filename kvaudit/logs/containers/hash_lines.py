"""JSON lines of a trace of block hashes: in columns where a line holds nothing else."""

from __future__ import annotations

from collections.abc import Iterator

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
    pieces = _pieces(source.chunks())
    line, rest = 1, b""
    for piece in pieces:
        text = rest + piece
        if (line == 1 and len(text) < _SMALL_BYTES) or b"\n" not in piece:
            rest = text
            break
        end = text.rindex(b"\n") + 1
        at = 0
        while at < end:
            rows, at = scan(text, at)
            if rows.requests:
                yield line, rows
                line += rows.requests
            if at < end:
                lines, following = _few_lines(text, at, end)
                yield from jsonl.read_rest(source, (text[at:following],), line)
                line, at = line + lines, following
        rest = text[end:]
    yield from jsonl.read_rest(source, _before(rest, pieces), line)


def _few_lines(text: bytes, at: int, end: int) -> tuple[int, int]:
    """Return how many lines are read next, and where they end."""
    lines = 0
    while lines < _LINES and at < end:
        at = text.index(b"\n", at) + 1
        lines += 1
    return lines, at


def _pieces(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the same text in pieces that are worth a scan each."""
    held: list[bytes] = []
    size = 0
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size >= _PIECE_BYTES:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def _before(text: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    yield text
    yield from pieces
