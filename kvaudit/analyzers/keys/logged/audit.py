"""What a candidate key does on a log: hits, wrong hits, leaks, collisions and splits.

The cache is unbounded and forgets nothing. The first request with a key is stored, and every
later one with it is a hit on that one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.keys.logged.fields import PARTS_OF_CONTENT
from kvaudit.analyzers.keys.logged.grouping import Groups, count_of, firsts, grouped
from kvaudit.analyzers.keys.logged.table import ABSENT, KeyTable, distinct
from kvaudit.core.keys import LEAK_FIELDS, Split

DEFINITION = (
    "a hit is a request whose key was seen before, in an unbounded cache without lifetimes; it is "
    "wrong if it differs from the stored request in a field that matters, and a leak if that "
    "field is tenant or user"
)
NEARLY_UNIQUE = 0.9
"""A field with so many values a request keeps nearly every request apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A key to be held against the log."""

    name: str
    fields: tuple[str, ...]
    column: int | None = None
    """Of a function: which of the table's key columns it made."""
    unique: str = ""
    """What makes every request a key of its own, such as a random number; no field of the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCollision:
    """A collision, its example still as numbers of requests in the file."""

    field: str
    requests: int
    request: int
    stored: int
    cross_tenant: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundKey:
    """What became of one candidate."""

    requests: int
    hits: int
    wrong_hits: int
    leaks: int
    distinct_keys: int
    collisions: Sequence[FoundCollision]
    splits: Sequence[Split]


class KeyAudits:
    """A log's table, asked about one key after the other."""

    def __init__(self, table: KeyTable, matters: Sequence[str], first: int) -> None:
        """Judge by the fields in ``matters``; rows before ``first`` fill the cache uncounted."""
        self._table, self._first = table, first
        self._matters = [name for name in matters if table.present(name)]
        self._leaking = [name for name in LEAK_FIELDS if name in self._matters]

    def hits(self, fields: Sequence[str]) -> int:
        """Return the counted hits of a key of fields."""
        return int(self._hit(self._groups(fields))[self._first :].sum())

    def of(self, candidate: Candidate) -> FoundKey:
        """Return what a key would do."""
        groups = self._groups_of(candidate)
        stored, hit = firsts(groups), self._hit(groups)
        hit[: self._first] = False
        differs = {name: hit & self._differs(name, stored) for name in self._matters}
        none = np.zeros(len(hit), bool)
        leaks = np.logical_or.reduce([none, *(differs[name] for name in self._leaking)])
        return FoundKey(
            requests=max(0, len(hit) - self._first),
            hits=int(hit.sum()),
            wrong_hits=int(np.logical_or.reduce([none, *differs.values()]).sum()),
            leaks=int(leaks.sum()),
            distinct_keys=count_of(groups),
            collisions=self._collisions(differs, stored),
            splits=self._splits(candidate, int(hit.sum())),
        )

    def _groups_of(self, candidate: Candidate) -> Groups:
        if candidate.unique:
            return np.arange(len(self._table), dtype=np.int64)
        if candidate.column is None:
            return self._groups(candidate.fields)
        return grouped([self._table.keys[candidate.column]], len(self._table))

    def _groups(self, fields: Sequence[str]) -> Groups:
        return grouped((self._table.columns[name] for name in fields), len(self._table))

    def _hit(self, groups: Groups) -> NDArray[np.bool_]:
        hit: NDArray[np.bool_] = firsts(groups) != np.arange(len(groups))
        return hit

    def _differs(self, name: str, stored: NDArray[np.intp]) -> NDArray[np.bool_]:
        codes = self._table.columns[name]
        differs: NDArray[np.bool_] = codes != codes[stored]
        return differs

    def _both_named(self, name: str, stored: NDArray[np.intp]) -> NDArray[np.bool_]:
        named = self._table.columns[name] != ABSENT
        both: NDArray[np.bool_] = named & named[stored]
        return both

    def _collisions(
        self, differs: dict[str, NDArray[np.bool_]], stored: NDArray[np.intp]
    ) -> list[FoundCollision]:
        foreign = self._differs("tenant", stored) if "tenant" in self._matters else None
        grave = [] if foreign is None else [foreign & self._both_named("tenant", stored), foreign]
        found = []
        for name, rows in differs.items():
            count = int(rows.sum())
            if not count:
                continue
            worst = next((some for each in grave if (some := rows & each).any()), rows)
            row = int(np.argmax(worst))
            found.append(
                FoundCollision(
                    field=name,
                    requests=count,
                    request=int(self._table.numbers[row]),
                    stored=int(self._table.numbers[stored[row]]),
                    cross_tenant=None if foreign is None else bool(foreign[row]),
                )
            )
        return sorted(found, key=lambda one: (_gravity(one.field), -one.requests))

    def _splits(self, candidate: Candidate, hits: int) -> list[Split]:
        found = []
        if candidate.unique:
            requests = len(self._table) - self._first
            lost_hits = self.hits(candidate.fields)
            found.append(Split(field=candidate.unique, distinct=requests, lost_hits=lost_hits))
        for name in candidate.fields:
            if name in PARTS_OF_CONTENT or name not in self._table.columns:
                continue
            values = distinct(self._table.columns[name][self._first :])
            others = [other for other in candidate.fields if other != name]
            known = candidate.column is None
            lost = None if not known else 0 if candidate.unique else self.hits(others) - hits
            if self._parts(name, values, lost):
                found.append(Split(field=name, distinct=values, lost_hits=lost))
        return sorted(found, key=lambda one: -(one.lost_hits or one.distinct))

    def _parts(self, name: str, values: int, lost: int | None) -> bool:
        """Return whether a field of a key keeps apart what could share an answer."""
        unique = values > 1 and values >= NEARLY_UNIQUE * (len(self._table) - self._first)
        if name in self._matters:
            return unique and lost != 0
        return unique or bool(lost)


def _gravity(field: str) -> int:
    """Return a number to sort by: tenants first, then users, then all the rest."""
    return LEAK_FIELDS.index(field) if field in LEAK_FIELDS else len(LEAK_FIELDS)
