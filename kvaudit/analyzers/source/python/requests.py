"""What is no text: how requests are put together, marked and sent, seen in the code."""

from __future__ import annotations

from collections.abc import Sequence

from kvaudit.analyzers.source.python import directives, history, markers, tool_lists
from kvaudit.analyzers.source.python.engine import Engine, Unit
from kvaudit.analyzers.source.python.sinks import Draft
from kvaudit.core.document import Document, Observation

_DIRECTIVES = (markers.observed, directives.observed)


def observations(engine: Engine, drafts: Sequence[Draft]) -> list[Document]:
    """Return a document for each function in which something was observed."""
    made = []
    of_unit: dict[int, list[Draft]] = {}
    for draft in drafts:
        of_unit.setdefault(id(draft.unit), []).append(draft)
    for unit in engine.units:
        mine = of_unit.get(id(unit), [])
        for looks in ((tool_lists.observed, history.observed), _DIRECTIVES):
            found = [seen for look in looks for seen in look(engine, unit, mine)]
            if found:
                # Directives are words of an API; lists and messages may be those of anything.
                sent = looks is _DIRECTIVES or any(draft.sent for draft in mine)
                made.append(_document(engine, unit, found, sent=sent))
    return made


def _document(engine: Engine, unit: Unit, found: list[Observation], *, sent: bool) -> Document:
    return Document(
        source=engine.module.source,
        kind="python",
        name=unit.name or engine.module.source.path,
        observations=found,
        low_stakes=unit.main,
        sent=sent,
    )
