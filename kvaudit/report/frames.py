"""A code frame: the user's own lines with marks under what a finding speaks of.

Columns are those of the terminal: tabs are widened, wide characters count twice, and what a
terminal would act on is shown as an escape. A line that is too long is cut around its mark, so a
frame never wraps. Credentials are starred.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from rich.cells import cell_len
from rich.text import Text

from kvaudit.core.findings import OUT_OF_REACH, Finding
from kvaudit.core.redact import one_line, starred
from kvaudit.core.sources import Source, Span

TAB = 4
SHOWN_RELATED = 4
LEAST_ROOM = 20
LEAST_MARK = 8
TELLING = 16
"""Characters of a line that tell a reader which text is meant."""
_AROUND = 8192
"""Characters before and behind a line in which a credential that spans lines is looked for."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A part of one line that is underlined."""

    line: int
    span: Span
    """In characters of the line."""
    label: str
    primary: bool


def frame(finding: Finding, width: int) -> Iterator[Text]:
    """Yield the lines of a finding's frame, without its heading and remarks."""
    own, others = marks_of(finding)
    numbers = [m.line for m in own] + [m.line for _, marks in others for m in marks]
    gutter = len(str(max(numbers)))
    yield _arrow("-->", finding.source, finding.span, gutter)
    yield from _rows(finding.source, own, gutter, width)
    for source, marks in others:
        first = marks[0]
        start = source.offset(first.line) + first.span.start
        yield _arrow(":::", source, Span(start, start), gutter)
        yield from _rows(source, marks, gutter, width)
    yield Text(" " * (gutter + 1) + " |", "blue")


def marks_of(finding: Finding) -> tuple[list[Mark], list[tuple[Source, list[Mark]]]]:
    """Return the marks in the finding's own file, and those in others."""
    own = [_mark(finding.source, finding.span, _label(finding), primary=True)]
    others: dict[str, tuple[Source, list[Mark]]] = {}
    for related in finding.related[-SHOWN_RELATED:]:
        mark = _mark(related.source, related.span, related.label, primary=False)
        if related.source.path == finding.source.path:
            if (mark.line, mark.span) != (own[0].line, own[0].span):
                own.append(mark)
        else:
            others.setdefault(related.source.path, (related.source, []))[1].append(mark)
    return own, list(others.values())


def _label(finding: Finding) -> str:
    words = {"session": "changes between requests", "fleet": "differs between sessions"}
    return words.get(finding.scope or "", "")


def _mark(source: Source, span: Span, label: str, *, primary: bool) -> Mark:
    """Return the mark on that line of a span which says most about it."""
    start = _telling(source, span) if label == OUT_OF_REACH else span.start
    while start < span.end and source.text[start].isspace():
        start += 1
    if start == span.end:
        start = span.start
    line, column = source.place(start)
    text = source.line(line)
    end = min(column - 1 + span.end - start, len(text.rstrip()) if span.end - start else len(text))
    return Mark(line, Span(column - 1, max(end, column - 1)), label, primary)


def _telling(source: Source, span: Span) -> int:
    """Return where the first line of a span begins by which it is known: not a lone full stop."""
    start = span.start
    longest = (0, span.start)
    for line in source.text[span.start : min(span.end, span.start + _AROUND)].split("\n"):
        length = len(line.strip())
        longest = max(longest, (length, start), key=lambda pair: pair[0])
        if length >= TELLING:
            return start
        start += len(line) + 1
    return longest[1]


def _arrow(sign: str, source: Source, span: Span, gutter: int) -> Text:
    place = source.place(span.start)
    where = f"{one_line(source.path)}:{place.line}:{place.column}"
    return Text.assemble(" " * gutter, (f" {sign} ", "blue"), where)


def _rows(source: Source, marks: Sequence[Mark], gutter: int, width: int) -> Iterator[Text]:
    yield Text(" " * (gutter + 1) + " |", "blue")
    before: int | None = None
    for number in sorted({mark.line for mark in marks}):
        if before is not None and number > before + 1:
            yield Text("...", "blue")
        before = number
        here = [mark for mark in marks if mark.line == number]
        here.sort(key=lambda mark: (not mark.primary, mark.span))
        yield from _line(source, number, here, gutter, width)


def _line(
    source: Source, number: int, marks: Sequence[Mark], gutter: int, width: int
) -> Iterator[Text]:
    room = max(width - gutter - 4, LEAST_ROOM)
    cells = Cells(_safe_line(source, number))
    window = cells.window(marks[0].span, room)
    yield Text.assemble(
        (f" {number:>{gutter}} |", "blue"), f" {window.text}" if window.text else ""
    )
    for mark in marks:
        for text, style in window.underline(mark, room):
            yield Text.assemble((" " * (gutter + 1) + " | ", "blue"), (text, style))


def _safe_line(source: Source, number: int) -> str:
    """Return a line with its credentials starred, also those that began on a line before."""
    start = source.offset(number)
    first = max(0, start - _AROUND)
    text = starred(source.text[first : start + _AROUND])
    return text[start - first :].partition("\n")[0].removesuffix("\r")


class Cells:
    """A line as a terminal shows it, and where each of its characters then stands."""

    def __init__(self, line: str) -> None:
        """Lay the line out."""
        self.shown: list[str] = []
        column = 0
        for character in line:
            text = " " * (TAB - column % TAB) if character == "\t" else one_line(character)
            self.shown.append(text)
            column += cell_len(text)
        self.columns = [0, *accumulate(cell_len(text) for text in self.shown)]

    def window(self, span: Span, room: int) -> Window:
        """Return the part of the line that fits, chosen so that a span is in it."""
        if self.columns[-1] <= room:
            return Window(self, 0, len(self.shown))
        start = self._before(span.start, room // 3) if self.columns[span.end] > room - 1 else 0
        end = start
        limit = self.columns[start] + room - (1 if start else 0) - 1
        while end < len(self.shown) and self.columns[end + 1] <= limit:
            end += 1
        return Window(self, start, end)

    def _before(self, index: int, cells: int) -> int:
        start = index
        while start and self.columns[index] - self.columns[start - 1] <= cells:
            start -= 1
        return start


class Window:
    """The characters of a line that are shown; what is cut off is one dot character."""

    def __init__(self, cells: Cells, start: int, end: int) -> None:
        """Show the characters from ``start`` to ``end``."""
        self._cells, self._start, self._end = cells, start, end
        self._indent = 1 if start else 0
        shown = "".join(cells.shown[start:end])
        cut = end < len(cells.shown)
        self.text = f"{'…' if start else ''}{shown}{'…' if cut else ''}".rstrip()

    def underline(self, mark: Mark, room: int) -> Iterator[tuple[str, str]]:
        """Yield the marks under the line, with their label behind them or below."""
        columns = self._cells.columns
        first = min(max(mark.span.start, self._start), self._end)
        last = min(max(mark.span.end, first), self._end)
        at = columns[first] - columns[self._start] + self._indent
        length = max(columns[last] - columns[first], 1)
        label = one_line(mark.label)
        if not mark.primary and label:
            # Long text is known by its beginning; its mark leaves room for what is said of it.
            length = min(length, max(room - at - 1 - cell_len(label), LEAST_MARK))
        style = "bold red" if mark.primary else "dim" if mark.label == OUT_OF_REACH else "blue"
        line = " " * at + ("^" if mark.primary else "-") * length
        if not label:
            yield line, style
        elif cell_len(line) + 1 + cell_len(label) <= room:
            yield f"{line} {label}", style
        else:
            yield line, style
            indent = max(0, min(at, room - cell_len(label)))
            yield " " * indent + cut(label, room), style


def cut(text: str, room: int) -> str:
    """Return a text that fits."""
    if cell_len(text) <= room:
        return text
    kept = ""
    for character in text:
        if cell_len(kept + character) > room - 1:
            break
        kept += character
    return kept + "…"
