"""One file, from its text to its documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvaudit.analyzers.reader import Project
from kvaudit.analyzers.source.ecmascript.directives import directive_observations
from kvaudit.analyzers.source.ecmascript.documents import document
from kvaudit.analyzers.source.ecmascript.drafts import Draft
from kvaudit.analyzers.source.ecmascript.engine import Engine
from kvaudit.analyzers.source.ecmascript.histories import history_observations
from kvaudit.analyzers.source.ecmascript.module import module_of
from kvaudit.analyzers.source.ecmascript.placeholders import filled
from kvaudit.analyzers.source.ecmascript.prompts import drafts
from kvaudit.analyzers.source.ecmascript.replays import replay_observations
from kvaudit.analyzers.source.ecmascript.toolchanges import tool_observations
from kvaudit.analyzers.source.ecmascript.tree import Node, collector_paused
from kvaudit.core.document import Document, Step
from kvaudit.core.sources import Source


def read_module(source: Source, project: Project, kind: str) -> Sequence[Document]:
    """Return the prompts that a file builds. Raises `Unreadable`."""
    with collector_paused():
        return _read(source, project, kind)


def _read(source: Source, project: Project, kind: str) -> Sequence[Document]:
    engine = Engine(module_of(source), project)
    found = [document(source, kind, draft) for draft in _all_drafts(engine)]
    seen = [
        *tool_observations(engine),
        *history_observations(engine),
        *replay_observations(engine),
        *directive_observations(engine),
    ]
    if seen:
        found.append(Document(source=source, kind=kind, name="requests", observations=seen))
    return [made for made in found if made.segments or made.observations]


def _all_drafts(engine: Engine) -> Iterator[Draft]:
    """Yield the prompts of a file; a table whose values were met in one of them is told there."""
    told: set[Node] = set()
    met: set[tuple[str, int]] = set()
    for draft in drafts(engine):
        told.add(draft.node)
        met |= {(step.source.path, step.span.start) for step in _steps(draft)}
        yield draft
    for draft in filled(engine, told):
        steps = {(step.source.path, step.span.start) for step in _steps(draft)}
        if not steps or steps - met:
            yield draft


def _steps(draft: Draft) -> Iterator[Step]:
    """Yield where the changing values of a prompt arise."""
    for entry in draft.entries:
        for part in entry.value.printed:
            yield from part.trail[:1]
