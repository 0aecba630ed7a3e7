"""The table that a run is about, as comma-separated values for a spreadsheet."""

from __future__ import annotations

import csv
import io

from kvaudit.core.console import Screen
from kvaudit.report.sheet import Cell, Sheet

_FORMULA = ("=", "+", "-", "@")


def finished(sheet: Sheet, screen: Screen) -> str:
    """Return the first table, numbers as they are; the facts where a run has no table."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    if sheet.tables:
        writer.writerow(sheet.tables[0].heads)
        writer.writerows([_plain(cell) for cell in row] for row in sheet.tables[0].rows)
    else:
        writer.writerow(("fact", "value"))
        writer.writerows([_plain(name), _plain(value)] for name, value in sheet.facts)
    return file.getvalue()


def _plain(cell: Cell) -> Cell:
    """Return a cell of which a spreadsheet makes no formula: names in a log are anybody's."""
    if isinstance(cell, str):
        cell = cell.replace("\r", " ").replace("\n", " ")
        return f"'{cell}" if cell.startswith(_FORMULA) else cell
    return cell
