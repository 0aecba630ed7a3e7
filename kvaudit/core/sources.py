"""A file that is linted, and places in it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple


class Span(NamedTuple):
    """Characters ``start`` to ``end`` of a source's text, the end not included."""

    start: int
    end: int


class Place(NamedTuple):
    """Line and column, both from 1; columns count characters."""

    line: int
    column: int


@dataclass(frozen=True)
class Source:
    """One file's text, decoded, with its line ends as they stand in the file."""

    path: str
    """As the user would write it, with forward slashes."""
    text: str

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        at = self.text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = self.text.find("\n", at + 1)
        return starts

    def place(self, offset: int) -> Place:
        """Return where a character stands."""
        line = bisect_right(self._line_starts, offset)
        return Place(line, offset - self._line_starts[line - 1] + 1)

    def offset(self, line: int, column: int = 1) -> int:
        """Return the offset of a place; lines past the end mean the end of the text."""
        if line > len(self._line_starts):
            return len(self.text)
        return min(self._line_starts[line - 1] + column - 1, len(self.text))

    def line(self, number: int) -> str:
        """Return the text of a line without its line end."""
        start = self.offset(number)
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].removesuffix("\r")
