"""A finished run as one page that needs nothing else: no script, no other file, no network."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from kvaudit.core.console import Screen
from kvaudit.report.sheet import Cell, Sheet, Table, shown

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;"
    "color:#1b1f24;background:#fff}h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem;"
    "border-bottom:1px solid #d8dee4;vertical-align:top;overflow-wrap:anywhere}"
    "td.n,th.n{text-align:right;white-space:nowrap}"
    "td.bar{background:linear-gradient(#9ec5fe,#9ec5fe) no-repeat left/var(--w) 100%}"
    "dt{font-weight:600}dd{margin:0 0 .4rem 0}"
    "@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}"
    "th,td{border-color:#30363d}td.bar{background-image:linear-gradient(#1f4b80,#1f4b80)}}"
)


def finished(sheet: Sheet, screen: Screen) -> str:
    """Return the page."""
    return "\n".join(_lines(sheet)) + "\n"


def _lines(sheet: Sheet) -> Iterator[str]:
    title = escape(sheet.title)
    yield f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{title}</title>'
    yield '<meta name="viewport" content="width=device-width,initial-scale=1">'
    yield f"<style>{_STYLE}</style>\n<h1>{title}</h1>\n<dl>"
    for name, value in sheet.facts:
        yield f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>"
    yield "</dl>"
    for table in sheet.tables:
        yield f"<h2>{escape(table.title)}</h2>"
        yield from _table(table)
    if sheet.notes:
        yield "<h2>notes</h2>\n<ul>"
        yield from (f"<li>{escape(note)}</li>" for note in sheet.notes)
        yield "</ul>"
    yield "</html>"


def _table(table: Table) -> Iterator[str]:
    numeric = [
        all(isinstance(row[i], int | float | None) for row in table.rows)
        for i in range(len(table.heads))
    ]
    heads = zip(table.heads, numeric, strict=True)
    yield "<table>\n<tr>" + "".join(_tag("th", head, is_n) for head, is_n in heads) + "</tr>"
    most = max((_amount(row[table.bar]) for row in table.rows), default=0) if table.bar else 0
    for row in table.rows:
        cells = []
        for i, cell in enumerate(row):
            if i == table.bar and most > 0:
                width = f"{100 * _amount(cell) / most:.1f}%"
                text = escape(shown(cell))
                cells.append(f'<td class="n bar" style="--w:{width}">{text}</td>')
            else:
                cells.append(_tag("td", shown(cell), numeric[i]))
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</table>"


def _tag(name: str, text: str, is_number: bool) -> str:
    kind = ' class="n"' if is_number else ""
    return f"<{name}{kind}>{escape(text)}</{name}>"


def _amount(cell: Cell) -> float:
    return max(float(cell), 0.0) if isinstance(cell, int | float) else 0.0
