"""Reads what a provider billed: a table of classes, or what its usage and cost pages export.

The simple form is a table with the columns ``class``, ``tokens`` and ``usd``, the last two of which
may be empty, as CSV, as a JSON list of objects, or as JSON lines. Beside it: OpenAI's
``organization/usage/completions`` and ``organization/costs``, Anthropic's ``usage_report/messages``
and ``cost_report``, and tables with one column a class, as consoles export them.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kvaudit.core.errors import InputError
from kvaudit.core.money import TokenClasses
from kvaudit.core.nearest import did_you_mean
from kvaudit.cost.amounts import Amounts

Row = Mapping[str, Any]
CLASSES = TokenClasses._fields
SIMPLE = "a table of classes"
# Names of a class in a table, in exports, and as words of a line item.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "input": ("input", "uncached_input", "uncached_input_tokens", "input_tokens", "prompt_tokens"),
    "cached_read": (
        *("cached_read", "cache_read", "cached_input", "cached", "cache_read_input_tokens"),
        *("input_cached_tokens", "cache_read_tokens", "cached_tokens"),
    ),
    "cache_write_5m": (
        *("cache_write_5m", "cache_write", "cache_creation", "cache_creation_input_tokens"),
        *("ephemeral_5m_input_tokens", "cache_write_5m_tokens", "cache_write_tokens"),
        *("input_cache_write_tokens", "cache_creation.ephemeral_5m_input_tokens"),
    ),
    "cache_write_1h": (
        *("cache_write_1h", "ephemeral_1h_input_tokens", "cache_write_1h_tokens"),
        "cache_creation.ephemeral_1h_input_tokens",
    ),
    "output": ("output", "output_tokens", "completion_tokens"),
}
_CONSOLE = {
    "usage_input_tokens_no_cache": "input",
    "usage_input_tokens_cache_read": "cached_read",
    "usage_input_tokens_cache_write_5m": "cache_write_5m",
    "usage_input_tokens_cache_write_1h": "cache_write_1h",
    "usage_output_tokens": "output",
}
_CLASS_OF = {alias: name for name, aliases in _NAMES.items() for alias in aliases}
# Where a field of this name stands beside ``input_tokens``, that one holds the cached ones too.
_INCLUDED = ("input_cached_tokens", "cached_tokens")


@dataclass(slots=True)
class BilledTotals:
    """Sums of a bill; a class that it does not name is missing."""

    form: str
    tokens: dict[str, int] = field(default_factory=dict)
    usd: dict[str, float] = field(default_factory=dict)
    """By class."""
    total_usd: float | None = None

    def add_tokens(self, name: str, count: int) -> None:
        """Add tokens of a class."""
        self.tokens[name] = self.tokens.get(name, 0) + count

    def add_usd(self, name: str | None, amount: float) -> None:
        """Add an amount, of a class if it is known of which."""
        self.total_usd = (self.total_usd or 0.0) + amount
        if name is not None:
            self.usd[name] = self.usd.get(name, 0.0) + amount


def read_bill(path: Path) -> BilledTotals:
    """Read a bill. Raises `InputError` for a file that cannot be read as one."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"--invoice {path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"--invoice {path}: is not UTF-8 text") from None
    rows = _rows(path, text)
    if not rows:
        raise InputError(f"--invoice {path}: it holds no rows")
    form = _simple if "class" in rows[0] else _costs if "amount" in rows[0] else _wide
    bill = form(path, rows)
    if not bill.tokens and bill.total_usd is None:
        raise InputError(f"--invoice {path}: it says neither tokens nor dollars of any class")
    return bill


def _rows(path: Path, text: str) -> list[Row]:
    stripped = text.lstrip()
    if not stripped.startswith(("{", "[")):
        return _table(path, text)
    try:
        parsed = [json.loads(stripped)]
    except ValueError:
        parsed = _json_lines(path, text)
    except RecursionError:
        raise InputError(f"--invoice {path}: JSON nested too deeply") from None
    return [row for value in parsed for row in _objects(value)]


def _table(path: Path, text: str) -> list[Row]:
    head = text.split("\n", 1)[0]
    # Where a comma is the decimal sign, spreadsheets part cells otherwise.
    delimiter = next((d for d in (",", ";", "\t") if d in head), ",")
    rows: list[Row] = []
    for number, row in enumerate(csv.DictReader(io.StringIO(text), delimiter=delimiter), 1):
        if None in row:
            raise InputError(
                f"--invoice {path}: row {number} has more cells than the table has columns; "
                "quote amounts with commas"
            )
        rows.append({name.strip().lower(): value for name, value in row.items()})
    return rows


def _json_lines(path: Path, text: str) -> list[Any]:
    values = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                values.append(json.loads(line))
            except ValueError as error:
                raise InputError(f"--invoice {path}:{number}: not JSON: {error}") from None
    return values


def _objects(value: Any) -> Iterable[Row]:
    """Yield the rows in a list, in pages of results, or in an object that is one itself."""
    if isinstance(value, list):
        for item in value:
            yield from _objects(item)
    elif isinstance(value, dict):
        inner = [value[name] for name in ("data", "results") if isinstance(value.get(name), list)]
        if inner:
            for items in inner:
                yield from _objects(items)
        else:
            yield value


def _simple(path: Path, rows: Sequence[Row]) -> BilledTotals:
    bill = BilledTotals(SIMPLE)
    for number, row in enumerate(rows, 1):
        spelled = str(row["class"]).strip().lower().replace(" ", "_")
        name = _CLASS_OF.get(spelled)
        if name is None and spelled != "total":
            raise InputError(
                f"--invoice {path}: row {number}: {row['class']!r} is no class of tokens"
                f"{did_you_mean(spelled, CLASSES)}"
            )
        amounts = Amounts(path, number, row)
        tokens, usd = amounts.tokens("tokens"), amounts.usd("usd")
        if name is None:
            continue  # a total is what the others come to
        if tokens is not None:
            bill.add_tokens(name, tokens)
        if usd is not None:
            bill.add_usd(name, usd)
    return bill


def _costs(path: Path, rows: Sequence[Row]) -> BilledTotals:
    """OpenAI's amounts are objects of dollars; Anthropic's are cents, as texts."""
    bill = BilledTotals("a cost report")
    for number, row in enumerate(rows, 1):
        amount = Amounts(path, number, row).usd("amount")
        if amount is not None:
            in_dollars = isinstance(row["amount"], dict)
            bill.add_usd(_class_of_item(row), amount if in_dollars else amount / 100)
    return bill


def _class_of_item(row: Row) -> str | None:
    kind = row.get("token_type")
    if isinstance(kind, str):
        return _CLASS_OF.get(kind)
    words = str(row.get("line_item") or row.get("description") or "").lower()
    if "cache write" in words or "cache creation" in words:
        return "cache_write_1h" if "1h" in words or "1 hour" in words else "cache_write_5m"
    if "cached" in words or "cache read" in words or "cache hit" in words:
        return "cached_read"
    return next((name for name in ("output", "input") if name in words), None)


def _wide(path: Path, rows: Sequence[Row]) -> BilledTotals:
    bill = BilledTotals("a table with a column a class")
    known = {*_CLASS_OF, *_CONSOLE, "cost_usd", "usd", "spend"}
    if known.isdisjoint(rows[0]) and not isinstance(rows[0].get("cache_creation"), dict):
        columns = ", ".join(list(rows[0])[:8])
        raise InputError(
            f"--invoice {path}: neither class, tokens and usd nor a usage or cost report of "
            f"OpenAI or Anthropic (columns: {columns})"
        )
    for number, row in enumerate(rows, 1):
        nested = row.get("cache_creation")
        flat = {**row, **nested} if isinstance(nested, dict) else dict(row)
        flat.pop("cache_creation", None)
        amounts = Amounts(path, number, flat)
        for column in flat:
            name = _CONSOLE.get(column) or _CLASS_OF.get(column)
            tokens = None if name is None else amounts.tokens(column)
            if name is not None and tokens is not None:
                bill.add_tokens(name, tokens)
        if "input_tokens" in flat:
            for column in _INCLUDED:
                bill.add_tokens("input", -(amounts.tokens(column) or 0))
        for column in ("cost_usd", "usd", "spend"):
            usd = amounts.usd(column)
            if usd is not None:
                bill.add_usd(None, usd)
    return bill
