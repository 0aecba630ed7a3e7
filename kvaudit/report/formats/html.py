"""A finished run as one page that needs nothing else: no script, no other file, no network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kvaudit.core.console import Screen
from kvaudit.core.errors import MissingExtra
from kvaudit.report.plots import Plot
from kvaudit.report.sheet import Cell, Sheet, Table, filled, shown

_PAGE = Path(__file__).parent.with_name("page.html.j2")


@dataclass(frozen=True, slots=True)
class _Shown:
    """One cell as the page has it."""

    text: str
    numeric: bool
    width: str | None = None
    """Of its bar, as CSS says it; None draws none."""


def finished(sheet: Sheet, screen: Screen) -> str:
    """Return the page. Curves are drawn where the ``report`` extra is installed."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True
    )
    pictures, missing = _drawn(sheet.plots)
    return environment.from_string(_PAGE.read_text("utf-8")).render(
        sheet=sheet,
        pictures=[(title, Markup(svg)) for title, svg in pictures],
        tables=[_table(filled(table)) for table in sheet.tables],
        notes=[*sheet.notes, *missing],
    )


def _drawn(plots: Sequence[Plot]) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the pictures by title, and why there are none."""
    from kvaudit.report.drawing import svg

    try:
        return [(plot.title, svg(plot)) for plot in plots], []
    except MissingExtra as error:
        return [], [f"no curve is drawn: {error}"]


def _table(table: Table) -> Mapping[str, object]:
    numeric = [
        all(isinstance(row[i], int | float | None) for row in table.rows)
        for i in range(len(table.heads))
    ]
    heads = [_Shown(head, is_n) for head, is_n in zip(table.heads, numeric, strict=True)]
    return {"title": table.title, "heads": heads, "rows": list(_rows(table, numeric))}


def _rows(table: Table, numeric: Sequence[bool]) -> Iterator[list[_Shown]]:
    most = max((_amount(row[table.bar]) for row in table.rows), default=0) if table.bar else 0
    for row in table.rows:
        yield [
            _Shown(
                shown(cell),
                numeric[i],
                f"{100 * _amount(cell) / most:.1f}%" if i == table.bar and most > 0 else None,
            )
            for i, cell in enumerate(row)
        ]


def _amount(cell: Cell) -> float:
    return max(float(cell), 0.0) if isinstance(cell, int | float) else 0.0
