"""The smallest key that serves no wrong answer and every right one.

Requests that agree in all fields that matter may share an answer, and no others. So a key without
a wrong hit makes at least as many groups of them as all those fields do, and one with the most
hits makes no more: the smallest set of fields with just that many groups is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from kvaudit.analyzers.keys.logged.grouping import count_of, firsts, grouped
from kvaudit.analyzers.keys.logged.table import Codes, KeyTable, distinct

MOST_ROWS = 300_000_000
"""Rows that are grouped in search of the smallest key: about a minute."""


class Proposal(NamedTuple):
    """Fields in the order of ``matters``."""

    fields: tuple[str, ...]
    constant: tuple[str, ...]
    implied: tuple[str, ...]
    smallest: bool


def proposed(table: KeyTable, matters: Sequence[str]) -> Proposal:
    """Return the smallest key for a log; of two that are equally small, the first by order."""
    present = [name for name in matters if table.present(name)]
    varied = [name for name in present if distinct(table.columns[name]) > 1]
    constant = tuple(name for name in present if name not in varied)
    columns = _different_rows(table, varied)
    fields, smallest = _smallest(columns, varied)
    implied = tuple(name for name in varied if name not in fields)
    return Proposal(fields, constant, implied, smallest)


def _different_rows(table: KeyTable, fields: Sequence[str]) -> dict[str, Codes]:
    groups = grouped((table.columns[name] for name in fields), len(table))
    first = firsts(groups)
    rows = first == np.arange(len(first))
    return {name: table.columns[name][rows] for name in fields}


def _smallest(columns: dict[str, Codes], varied: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """Return the fewest fields that tell all rows apart, and whether all sets were tried."""
    rows = len(next(iter(columns.values()))) if columns else 0

    def tells_apart(fields: Sequence[str]) -> bool:
        return count_of(grouped((columns[name] for name in fields), rows)) == rows

    # A field without which rows become equal is in every such key.
    needed = [f for f in varied if not tells_apart([other for other in varied if other != f])]
    others = [name for name in varied if name not in needed]
    left = MOST_ROWS
    for size in range(len(others) + 1):
        for more in combinations(others, size):
            fields = tuple(name for name in varied if name in needed or name in more)
            if tells_apart(fields):
                return fields, True
            left -= rows * max(len(fields), 1)
            if left < 0:
                return _reduced(varied, tells_apart), False
    return tuple(varied), True


def _reduced(
    varied: Sequence[str], tells_apart: Callable[[Sequence[str]], bool]
) -> tuple[str, ...]:
    """Return a key of which no field can be left out, the last fields dropped first."""
    kept = list(varied)
    for name in reversed(varied):
        without = [other for other in kept if other != name]
        if tells_apart(without):
            kept = without
    return tuple(kept)
