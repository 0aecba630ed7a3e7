"""Where a key is in a function: its own nodes, the names that hold it, and how it is written."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from kvaudit.analyzers.keys.reach import Mark, Reach, written
from kvaudit.analyzers.keys.scopes import Scope, core


@dataclass(frozen=True, slots=True)
class Carried:
    """A key on its way through one function."""

    reach: Reach
    marks: frozenset[Mark]

    @classmethod
    def to(cls, reach: Reach, marks: Iterable[Mark]) -> Carried:
        """Return a key that comes into a function as some nodes or names of it."""
        return cls(reach, frozenset(reach.names_of(marks)))

    def within(self, value: ast.AST) -> bool:
        """Whether a value holds the key, and is not only what was found under it."""
        return not self.marks.isdisjoint(self.reach.marks(value))


def marks_of(scope: Scope, key: ast.expr) -> set[Mark]:
    """Return the marks of a key where it is made."""
    made = core(scope, key)
    marks: set[Mark] = {key, made}
    if isinstance(key, ast.Name):
        marks.add(key.id)
    if isinstance(made, ast.BinOp | ast.JoinedStr):
        # Written once for asking and once for filling, it is the same key.
        marks.add(written(made))
    return marks
