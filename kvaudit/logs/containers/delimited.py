"""CSV, TSV and their kin: a header line, then one record a row; cells may span lines."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from kvaudit.core.errors import InputError
from kvaudit.logs.containers import Records
from kvaudit.logs.containers.lines import MAX_LINE_BYTES, Lines, TooLong
from kvaudit.logs.format import BadRecord, Row
from kvaudit.logs.source import Source

# PostgreSQL and ClickHouse write \N for NULL.
_EMPTY = frozenset({"", "\\N"})


def sniff(header: bytes, name: str) -> str | None:
    """Return the delimiter of a header line, or None where it has no columns."""
    csv.field_size_limit(MAX_LINE_BYTES)
    text = header.decode(errors="replace")
    try:
        columns = {mark: len(next(csv.reader([text], delimiter=mark))) for mark in ",\t;|"}
    except csv.Error:
        return None
    best = max(columns, key=lambda mark: columns[mark])
    if columns[best] > 1:
        return best
    return "," if ".csv" in name.lower() or ".tsv" in name.lower() else None


def read(source: Source, delimiter: str) -> Records:
    """Yield the rows under their column names, numbered by the line they begin on."""
    csv.field_size_limit(MAX_LINE_BYTES)  # the module's own limit is 128 KiB: one long prompt
    feed = _Feed(source)
    # Strict, so that a stray quote is a broken record and not another text.
    rows = csv.reader(iter(feed), delimiter=delimiter, strict=True)
    header: list[str] = []
    while True:
        begins = feed.number + 1
        feed.fault = None
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            if "unexpected end" in str(error):
                raise _cut_off(source, begins) from None
            yield begins, BadRecord(f"not CSV: {str(error).partition(' - ')[0]}")  # no advice
            continue
        if not cells:
            continue
        if not header:
            header = _distinct(source, [cell.strip() for cell in cells])
            continue
        record = _record(header, cells, feed.fault)
        if feed.unterminated and len(cells) < len(header):
            raise _cut_off(source, begins)
        yield begins, record


class _Feed:
    """Lines as text for the csv module, with what was amiss in those since the last reset."""

    def __init__(self, source: Source) -> None:
        self._lines = Lines(source.chunks())
        self.number = 0
        self.fault: str | None = None

    @property
    def unterminated(self) -> bool:
        return self._lines.unterminated

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.number += 1
            if isinstance(line, TooLong):
                self.fault = str(line.reason())
            try:
                text = line.decode()
            except UnicodeDecodeError:
                self.fault = "not valid UTF-8"
                text = line.decode(errors="replace")
            yield text + "\n"


def _distinct(source: Source, header: list[str]) -> list[str]:
    """Return the header; of two columns with one name a record could keep one only."""
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        raise InputError(
            f"{source.name} has more than one column named {', '.join(twice)}; rename or remove "
            "all but one of each"
        )
    return header


def _record(header: list[str], cells: list[str], fault: str | None) -> Row | BadRecord:
    if fault:
        return BadRecord(fault)
    if len(cells) != len(header):
        return BadRecord(f"{len(cells)} cells under {len(header)} column names")
    return {
        name: None if cell in _EMPTY else cell for name, cell in zip(header, cells, strict=True)
    }


def _cut_off(source: Source, number: int) -> InputError:
    return InputError(
        f"{source.name} is cut off, or a quote is not closed: the record on line {number} has no "
        "end; copy the file again, or export it again"
    )
