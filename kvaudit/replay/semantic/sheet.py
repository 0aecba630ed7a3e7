"""The labelling sheet: a CSV that a person fills in a spreadsheet, or in the terminal.

A cell that a spreadsheet would take for a formula gets an apostrophe in front, and loses it when
the sheet is read back.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from kvaudit.core.errors import InputError

SAME, WRONG, DEPENDS = "same", "wrong", "depends"
_SPELLINGS = {
    SAME: "same yes y 1 right ok true s",
    WRONG: "wrong no n 0 false w different",
    DEPENDS: "depends d maybe ?",
}
LABELS = {word: label for label, words in _SPELLINGS.items() for word in words.split()}
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A hit, and what people said of it."""

    sample: str
    """``main`` or ``risk``."""
    population: int
    """Hits that the main sample was drawn from."""
    request: str
    donor: str
    similarity: float
    differs: str
    """Kinds in which the entity rule sees a difference."""
    asked: str
    asked_before: str
    """The donor's question, whose answer was served."""
    answer: str
    label: str = ""
    """Whether that answer serves: same, wrong or depends."""
    second_label: str = ""
    """Of another person, on some of the rows."""


COLUMNS = [field.name for field in fields(Row)]


def write_sheet(path: Path, rows: Sequence[Row]) -> None:
    """Write the sheet. Raises `InputError` where it cannot be written."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_cell(getattr(row, name)) for name in COLUMNS])
    try:
        path.write_text(out.getvalue(), "utf-8-sig", newline="")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None


def _cell(value: object) -> str:
    text = str(value)
    return f"'{text}" if text.startswith(_FORMULA) and not isinstance(value, float) else text


def read_sheet(path: Path) -> list[Row]:
    """Read a sheet back, filled or not. Raises `InputError` that names the line."""
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8; save the sheet as CSV in UTF-8") from None
    first = text.partition("\n")[0]
    delimiter = ";" if first.count(";") > first.count(",") else ","
    reader = csv.DictReader(io.StringIO(text), delimiter=delimiter)
    missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise InputError(f"{path}: is no labelling sheet: it has no column {missing[0]}")
    rows = [_row(cells, f"{path}: line {number}") for number, cells in enumerate(reader, 2)]
    _refuse_conflicts(rows, path)
    return rows


def _refuse_conflicts(rows: Sequence[Row], path: Path) -> None:
    """Raise `InputError` where one hit stands in the sheet twice, with two labels."""
    seen: dict[Row, tuple[int, str]] = {}
    for number, row in enumerate(rows, 2):
        if not row.label:
            continue
        first, label = seen.setdefault(replace(row, label="", second_label=""), (number, row.label))
        if label != row.label:
            raise InputError(
                f"{path}: line {number}: {row.label}, and the same hit is {label} on line {first}; "
                "another person's label belongs in second_label"
            )


def _row(cells: dict[str, str | None], place: str) -> Row:
    given = {name: (cells[name] or "") for name in COLUMNS}
    try:
        row = Row(
            **{
                **{name: cell.removeprefix("'") for name, cell in given.items()},
                "population": int(given["population"]),
                "similarity": float(given["similarity"].replace(",", ".")),
            }  # type: ignore[arg-type]
        )
    except ValueError:
        raise InputError(
            f"{place}: population and similarity must be numbers, and are {given['population']!r} "
            f"and {given['similarity']!r}; a sheet has one line of column names"
        ) from None
    return replace(
        row, label=_label(row.label, place), second_label=_label(row.second_label, place)
    )


def _label(text: str, place: str) -> str:
    word = text.strip().lower()
    if word and word not in LABELS:
        raise InputError(f"{place}: label {text!r} is none of same, wrong and depends")
    return LABELS.get(word, "")
