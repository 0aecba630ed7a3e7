"""What is found out once: of the file itself for its own reading, of other modules for all.

Thousands of files import the same few modules. What a function of another module returns does not
depend on who imports it, so it is followed once and kept with the module; functions that call each
other in a circle, which differ with the one that is asked first, and what looks into the file that
is read are not kept.

The same file must give the same result whatever was read before it. So everything elsewhere is
followed on a budget of its own, and a file is charged for all that it reaches, kept or not.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from kvaudit.analyzers.source.python.engine import Engine
    from kvaudit.analyzers.source.python.module import Module

STEPS_EACH = 6_000
"""Expressions that are looked at for one function, class or name of another module."""

STEPS_ELSEWHERE = 60_000
"""Expressions elsewhere after which a file looks at nothing more there."""

_THE_FILE = -1
_NOTHING_OPEN = 1_000_000

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Kept:
    """What was found out of another module, what it took, and what else it rests on."""

    value: Any
    steps: int
    inside: list[Kept] = field(default_factory=list)


def _is_of(key: Hashable, inner: Sequence[Hashable]) -> bool:
    """Whether a class needed itself through its own methods only, which ask for it first."""
    return isinstance(key, ast.ClassDef) and all(method in key.body for method in inner)


class Once:
    """What one reading has found out."""

    def __init__(self, engine: Engine) -> None:
        """Begin with nothing."""
        self._engine = engine
        self._known: dict[Hashable, Any] = {}
        self._entries: dict[Hashable, Kept] = {}
        self._open: dict[Hashable, tuple[int, Any]] = {}
        """What is being found out: how deep it stands elsewhere, below the file, and what it is
        meanwhile."""
        self._inside: list[Kept] = []
        self._needs = _NOTHING_OPEN
        """The outermost of what is open that was needed since the innermost began."""
        self._partial: list[Hashable] = []
        """Found out while something was open that it needs: good for as long as that is."""
        self._charged: set[int] = set()
        self._left = STEPS_ELSEWHERE

    def know(self, key: Hashable, value: Any) -> None:
        """Take what was found out of the file itself in another way."""
        self._known[key] = value

    def found(self, module: Module, key: Hashable, make: Callable[[], T], meanwhile: T) -> T:
        """Return what ``make`` finds out of a module; ``meanwhile`` where that needs itself.

        ``make`` may fill ``meanwhile`` while it goes on.
        """
        own = module is self._engine.module
        if own and self._inside:
            self._needs = _THE_FILE
        if key in self._known:
            self._rests_on(self._entries.get(key))
            value: T = self._known[key]
            return value
        if key in self._open:
            depth, so_far = self._open[key]
            self._needs = min(self._needs, depth)
            return cast("T", so_far)
        if not own and not self._inside and self._left <= 0:
            return meanwhile
        self._open[key] = (_THE_FILE if own else len(self._inside), meanwhile)
        made: T = make() if own else self._elsewhere(module, key, make)
        del self._open[key]
        self._known[key] = made
        return made

    def _elsewhere(self, module: Module, key: Hashable, make: Callable[[], T]) -> T:
        entry: Kept | None = module.kept.get(key)
        if entry is None:
            entry = self._made(module, key, make)
        self._entries[key] = entry
        self._rests_on(entry)
        if not self._inside:
            self._charge(entry)
            self._partial.clear()
        value: T = entry.value
        return value

    def _made(self, module: Module, key: Hashable, make: Callable[[], T]) -> Kept:
        engine, depth, before = self._engine, len(self._inside), len(self._partial)
        left, engine.steps = engine.steps, STEPS_EACH
        outer, self._needs = self._needs, _NOTHING_OPEN
        entry = Kept(None, 0)
        self._inside.append(entry)
        entry.value = make()
        self._inside.pop()
        entry.steps, engine.steps = STEPS_EACH - engine.steps, left
        if self._needs == _NOTHING_OPEN or (
            self._needs == depth and _is_of(key, self._partial[before:])
        ):
            module.kept[key] = entry
        if self._needs >= depth:
            for inner in self._partial[before:]:
                self._known.pop(inner, None)
            del self._partial[before:]
            self._needs = outer
        else:
            self._partial.append(key)
            self._needs = min(self._needs, outer)
        return entry

    def _rests_on(self, entry: Kept | None) -> None:
        if entry is not None and self._inside and entry is not self._inside[-1]:
            self._inside[-1].inside.append(entry)

    def _charge(self, entry: Kept) -> None:
        waiting = [entry]
        while waiting:
            one = waiting.pop()
            if id(one) not in self._charged:
                self._charged.add(id(one))
                self._left -= one.steps
                waiting += one.inside
