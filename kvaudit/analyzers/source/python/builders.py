"""Functions that only those can use who write their name, and who that is.

Where nobody does they are dead code, and where only a constant of their file does they run once.

A method that a base class outside of the project may call, a function with a decorator, which
hands it on, and a program's start are used by others as well.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from kvaudit.analyzers.source.python.code import last_name
from kvaudit.analyzers.source.python.drafts import Draft
from kvaudit.analyzers.source.python.engine import Engine, Phase, Unit
from kvaudit.core.document import Evidence, Volatility

_CALLED_BY_PLATFORM = re.compile(
    r"__\w+__|_*main|run|handle\w*|lambda_handler|on_\w+|setup|forward"
)
"""Names of functions that a platform calls, and nobody who writes them."""
_CALL_NOTHING = ("object", "ABC", "Protocol", "Generic", "BaseModel", "Enum", "TypedDict")
_PLAIN = ("staticmethod", "classmethod", "property", "lru_cache", "cache", "traceable", "observe")
"""Decorators that leave it to the program to call a function."""


def named_builder(unit: Unit, drafts: Sequence[Draft] = ()) -> str | None:
    """Return the name without which nobody gets what a function builds; None if that is unsure.

    A function that asks a model itself is told of whoever starts it.
    """
    node, owner = unit.node, unit.owner
    if node is None or _CALLED_BY_PLATFORM.fullmatch(node.name):
        return None
    if any(draft.call is not None and draft.sent for draft in drafts):
        return None
    if not all(last_name(mark) in _PLAIN for mark in node.decorator_list):
        return None
    if owner is not None and not all(map(_calls_nothing, owner.bases)):
        return None
    return node.name


def is_loaded_once(engine: Engine, draft: Draft) -> bool:
    """Whether what changes in a function's text is read when its file is loaded, and never again.

    It is called for a constant of the file, and named nowhere else.
    """
    node = draft.unit.node
    changes = any(
        part.volatility >= Volatility.DAY and part.evidence is not Evidence.NAME
        for entry in draft.entries
        for part in entry.value.printed
    )
    if node is None or not changes or draft.unit.phase is not Phase.CALL:
        return False
    calls = [seen for seen in engine.seen if seen.code is not None and seen.code.node is node]
    return (
        bool(calls)
        and all(seen.unit.node is None and seen.unit.phase is Phase.IMPORT for seen in calls)
        and not engine.project.mentions(engine.module.source, node.name, elsewhere=True)
    )


def _calls_nothing(base: ast.expr) -> bool:
    named = base.value if isinstance(base, ast.Subscript) else base
    return last_name(named) in _CALL_NOTHING
