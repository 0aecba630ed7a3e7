"""A finished run as facts and tables, whatever command made it and whatever format prints it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from kvaudit.core.redact import mask_secrets, one_line
from kvaudit.core.runs import Kind, Run
from kvaudit.report.figures import NONE, percent
from kvaudit.report.plots import Plot, plots_of


class Share(float):
    """A share from 0 to 1, which a person reads as per cent and a spreadsheet as a number."""


Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a title; cells are plain values."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    bar: int | None = None
    """Column that is drawn as a bar, as a share of its largest value."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A run."""

    masked_by_formats: ClassVar[bool] = True
    """Its texts are masked already."""
    title: str
    facts: Sequence[tuple[str, str]]
    tables: Sequence[Table]
    """The first is the one that the run is about."""
    notes: Sequence[str]
    plots: Sequence[Plot] = ()
    """For formats that can draw."""


def sheet_of(run: Run) -> Sheet:
    """Return a run's facts and tables; parts that it does not have are left out."""
    facts, tables = _MAKERS[run.kind](run)
    notes = [
        note.text("text") or "" if isinstance(note, Run) else str(note) for note in _notes(run)
    ]
    return Sheet(
        title=f"kvaudit {run.kind} {' '.join(_texts(run, 'log', 'files'))}".strip(),
        facts=[(name, _clean(value)) for name, value in facts if value is not None],
        tables=[table for table in tables if table.rows],
        notes=[_clean(note) for note in notes if note],
        plots=plots_of(run),
    )


def filled(table: Table) -> Table:
    """Return a table without the columns in which nothing stands."""
    kept = [
        i for i in range(len(table.heads)) if any(row[i] not in (None, "") for row in table.rows)
    ]
    return replace(
        table,
        heads=[table.heads[i] for i in kept],
        rows=[[row[i] for i in kept] for row in table.rows],
        bar=kept.index(table.bar) if table.bar in kept else None,
    )


def shown(cell: Cell) -> str:
    """Return a cell as a person reads it: counts with separators, a dash for none."""
    if cell is None:
        return NONE
    if isinstance(cell, str):
        return _clean(cell)
    if isinstance(cell, Share):
        return percent(cell)
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:.4g}"


def _clean(text: str) -> str:
    return one_line(mask_secrets(text))


def _notes(run: Run) -> Iterator[Run | str]:
    found = run.at("notes")
    if isinstance(found, list) and all(isinstance(note, str) for note in found):
        yield from found
    else:
        yield from run.rows("notes")


def _texts(run: Run, *keys: str) -> list[str]:
    found = run.at(*keys)
    return [_clean(str(each)) for each in found] if isinstance(found, list) else []


def _share(value: float | None) -> Share | None:
    return None if value is None else Share(value)


def _rate(value: float | None) -> str | None:
    return None if value is None else percent(value)


def _cells(rows: Sequence[Run], columns: Sequence[str]) -> list[list[Cell]]:
    """Return the rows' fields; what is no plain value, as a list in a cell, is joined."""
    return [[_field(row, column) for column in columns] for row in rows]


def _field(row: Run, column: str) -> Cell:
    """Return a field, which ``.`` leads into; one that is named a rate is a share."""
    value = row.at(*column.split("."))
    if "hit_rate" in column and isinstance(value, int | float):
        return Share(value)
    return _cell(value)


def _cell(value: object) -> Cell:
    if value is None or (isinstance(value, str | int | float) and not isinstance(value, bool)):
        return value
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _table(title: str, rows: Sequence[Run], columns: Mapping[str, str], bar: str = "") -> Table:
    heads = list(columns)
    at = heads.index(bar) if bar else None
    return Table(title, heads, _cells(rows, list(columns.values())), at)


Made = tuple[list[tuple[str, str | None]], list[Table]]


def _engine(run: Run) -> list[tuple[str, str | None]]:
    engine = [run.text("engine", "name"), run.text("engine", "version")]
    tokens = run.number("prefix", "prompt_tokens") or run.number("prompt_tokens")
    return [
        ("engine", " ".join(part for part in engine if part) or None),
        ("exactness", run.text("engine", "exactness")),
        ("requests", None if run.requests is None else f"{run.requests:,}"),
        ("prompt tokens", None if tokens is None else f"{int(tokens):,}"),
    ]


def _replay(run: Run) -> Made:
    compared = {"possible": "ideal", "this cache": "prefix", "the log says": "reported"}
    present = {name: part for name, part in compared.items() if run.at(part) is not None}
    rows: list[list[Cell]] = []
    rows.append(["hit rate", *(_share(run.number(part, "hit_rate")) for part in present.values())])
    rows.append(["hit tokens", *(run.number(part, "hit_tokens") for part in present.values())])
    for name, end in (("hit rate, at least", "low"), ("hit rate, at most", "high")):
        ends = [run.number(part, "bounds", end) for part in present.values()]
        rows.append([name, *map(_share, ends)])
    rows = [row for row in rows if any(cell is not None for cell in row[1:])]
    lost = run.at("lost")
    went = sorted(lost.items(), key=lambda item: -item[1]) if isinstance(lost, dict) else []
    facts = [
        *_engine(run),
        ("saved FLOPs", _rate(run.number("savings", "share"))),
        ("definition", run.text("prefix", "definition")),
    ]
    columns = {"namespace": "namespace", "requests": "requests", "prompt tokens": "prompt_tokens"}
    return facts, [
        Table("hit rates", ["", *present], rows),
        Table(
            "where the rest went",
            ["reason", "tokens"],
            [[name.replace("_", " "), tokens] for name, tokens in went if tokens],
            1,
        ),
        _table("namespaces", run.rows("namespaces"), columns | {"hit rate": "hit_rate"}),
        _table(
            "budgets", run.rows("budgets"), {"name": "name", "limit": "limit", "value": "value"}
        ),
    ]


def _why(run: Run) -> Made:
    facts = [
        *_engine(run),
        ("hit rate", _rate(run.number("hit_rate"))),
        ("lost tokens", f"{int(run.number('lost_tokens') or 0):,}"),
        ("definition", run.text("definition")),
    ]
    group = {
        "group": "id",
        "cause": "cause",
        "lost tokens": "lost_tokens",
        "requests": "requests",
        "position": "position",
        "template": "template",
        "fix": "what_if.fix",
        "hit rate now": "what_if.hit_rate_before",
        "with the fix": "what_if.hit_rate_after",
    }
    groups = _table("groups", run.rows("groups"), group, "lost tokens")
    places = [
        ", ".join(f"{at.text('path')}:{at.at('line')}" for at in each.rows("locations"))
        for each in run.rows("groups")
    ]
    cause = {"cause": "cause", "rule": "code", "requests": "requests", "lost tokens": "lost_tokens"}
    check = {"check": "check", "count": "count", "": "message"}
    return facts, [
        replace(
            groups,
            heads=[*groups.heads, "written at"],
            rows=[[*row, place] for row, place in zip(groups.rows, places, strict=True)],
        ),
        _table("causes", run.rows("causes"), cause, "lost tokens"),
        _table("log checks", run.rows("log_checks"), check),
    ]


def _sweep(run: Run) -> Made:
    columns = {"blocks": "capacity_blocks", "bytes": "capacity_bytes", "hit rate": "hit_rate"}
    columns |= {"block hit rate": "block_hit_rate"}
    facts = [*_engine(run), ("curve", run.text("exactness")), ("method", run.text("method"))]
    titles = {"curve": "hit rate by capacity", "optimal": "with eviction that knows the future"}
    tables = [_table(title, run.rows(part), columns, "hit rate") for part, title in titles.items()]
    return facts, [
        replace(table, rows=[["inf" if r[0] is None else r[0], *r[1:]] for r in table.rows])
        for table in tables
    ]


def _keys(run: Run) -> Made:
    columns = {"key": "fields", "requests": "requests", "hits": "hits", "hit rate": "hit_rate"}
    columns |= {"wrong hits": "wrong_hits", "leaks": "leaks"}
    proposed = ", ".join(_texts(run, "proposed", "fields")) or None
    return [("proposed key", proposed)], [_table("keys", run.rows("keys"), columns)]


def _lint(run: Run) -> Made:
    columns = {"severity": "severity", "rule": "rule", "path": "path", "line": "line"}
    columns |= {"message": "message", "lost tokens": "lost_tokens"}
    facts: list[tuple[str, str | None]] = [("files checked", str(run.at("checked")))]
    return facts, [
        _table("findings", run.rows("findings"), columns),
        _table("not checked", run.rows("skipped"), {"path": "path", "reason": "reason"}),
    ]


def _calibrate(run: Run) -> Made:
    threshold = run.number("threshold")
    facts = [
        ("threshold", "none" if threshold is None else f"{threshold:.4g}"),
        ("verdict", run.text("verdict")),
        ("guarantee", run.text("guarantee")),
    ]
    columns = {name: name.replace(" ", "_") for name in ("threshold", "hits", "labelled")}
    columns |= {"false hits": "false_hits", "p value": "p_value"}
    return facts, [_table("thresholds", run.rows("curve"), columns)]


def _pairs(run: Run) -> Made:
    names = ("same", "served", "traps", "wrong", "wrong_rate")
    rows: list[list[Cell]] = [[name.replace("_", " "), _cell(run.at(name))] for name in names]
    return [("policy", run.text("policy"))], [Table("pairs", ["", "count"], rows)]


_MAKERS: Mapping[Kind, Callable[[Run], Made]] = {
    Kind.REPLAY: _replay,
    Kind.WHY: _why,
    Kind.SWEEP: _sweep,
    Kind.KEYS: _keys,
    Kind.LINT: _lint,
    Kind.CALIBRATE: _calibrate,
    Kind.PAIRS: _pairs,
}
