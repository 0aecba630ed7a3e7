"""A stream of bytes cut into lines of bounded length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kvaudit.logs.format import BadRecord

MAX_LINE_BYTES = 64 << 20
"""Longer lines are not held in memory; a request of a million tokens has some 5 MB."""


class TooLong(bytes):
    """Stands in for a line over the limit; its content is left out, its ``size`` is known."""

    size: int
    limit: int

    def reason(self) -> BadRecord:
        """Say why the line is a broken record."""
        return BadRecord(
            f"a line of {self.size / 1e6:,.1f} MB, over the limit of {self.limit / 1e6:,.1f} MB"
        )


class Lines:
    """Iterate over the lines of a stream, without their newline."""

    def __init__(self, chunks: Iterable[bytes], limit: int = MAX_LINE_BYTES) -> None:
        """Take the stream and the length from which a line comes as `TooLong`."""
        self._chunks = chunks
        self._limit = limit
        self.unterminated = False
        """Whether the line that was yielded last has no newline after it."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield each line; an empty stream has none."""
        pending: list[bytes] = []
        size = 0
        for chunk in self._chunks:
            parts = chunk.split(b"\n")
            rest = parts.pop()
            if parts:
                parts[0] = self._line(pending, size, parts[0])
                pending, size = [], 0
                yield from parts
            size += len(rest)
            if rest and size <= self._limit:
                pending.append(rest)
        if size:
            self.unterminated = True
            yield self._line(pending, size, b"")

    def _line(self, pending: list[bytes], size: int, end: bytes) -> bytes:
        size += len(end)
        if size > self._limit:
            line = TooLong(b"x")  # not blank, so that it is not taken for an empty line
            line.size, line.limit = size, self._limit
            return line
        pending.append(end)
        return b"".join(pending)
