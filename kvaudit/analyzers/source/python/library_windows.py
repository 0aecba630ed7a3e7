"""Windows over the history that a library is told to keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvaudit.analyzers.source.library_windows import library_window
from kvaudit.analyzers.source.python.code import ONE_SHOT, observe, short
from kvaudit.analyzers.source.python.drafts import Draft
from kvaudit.analyzers.source.python.engine import Engine, Unit
from kvaudit.analyzers.source.windows import drops_the_oldest
from kvaudit.core.document import Observation


def observed(engine: Engine, unit: Unit, drafts: Sequence[Draft]) -> Iterator[Observation]:
    """Yield calls that keep the newest messages of a conversation only."""
    for seen in unit.seen:
        window = library_window("python", seen.dotted)
        if window is None or ONE_SHOT.search(unit.name):
            continue
        given = {k.arg: engine.module.written(k.value) for k in seen.node.keywords if k.arg}
        if window.slides(given):
            detail = drops_the_oldest(short(engine, seen.node.func))
            yield observe(engine, seen.node.func, "history-trimmed-each-turn", detail)
