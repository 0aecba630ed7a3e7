"""What is no text: how requests are put together, marked and sent, seen in the code."""

from __future__ import annotations

from collections.abc import Sequence

from kvaudit.analyzers.source.python import directives, history, markers, tool_lists
from kvaudit.analyzers.source.python.engine import Engine, Unit
from kvaudit.analyzers.source.python.sinks import Draft
from kvaudit.core.document import Document, Observation


def observations(engine: Engine, drafts: Sequence[Draft]) -> list[Document]:
    """Return a document for each function in which something was observed."""
    made = []
    of_unit: dict[int, list[Draft]] = {}
    for draft in drafts:
        of_unit.setdefault(id(draft.unit), []).append(draft)
    for unit in engine.units:
        mine = of_unit.get(id(unit), [])
        found: list[Observation] = []
        for look in (
            tool_lists.observed,
            history.observed,
            markers.observed,
            directives.observed,
        ):
            found += look(engine, unit, mine)
        if found:
            made.append(_document(engine, unit, found))
    return made


def _document(engine: Engine, unit: Unit, found: list[Observation]) -> Document:
    return Document(
        source=engine.module.source,
        kind="python",
        name=unit.name or engine.module.source.path,
        observations=found,
        low_stakes=unit.main,
    )
