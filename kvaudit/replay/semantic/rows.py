"""Per-request rows of a semantic cache, alone or in front of a prefix cache.

The prefix cache sees the misses only, in the same order: its rows are taken in, and those of the
requests that it never saw stand between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from kvaudit.core.errors import UsageError
from kvaudit.replay.semantic.run import SemanticRun
from kvaudit.replay.semantic.serving import NOBODY
from kvaudit.replay.semantic.truth import UNKNOWN, WRONG

BATCH_ROWS = 4096


class OpenRows(Protocol):
    """A file of rows; see ``kvaudit.report.rows.writer``."""

    def __enter__(self) -> OpenRows:
        """Open it."""

    def write(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Append rows."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""


class SemanticRows:
    """Writes a row for every request of a semantic run, with the prefix cache's columns."""

    def __init__(self, writer: OpenRows, run: SemanticRun) -> None:
        """Take a writer that is not open yet."""
        self._writer, self._run = writer, run
        self._written = 0
        self._missed = ~run.answered

    def __enter__(self) -> Self:
        """Open the file."""
        self._writer.__enter__()
        return self

    def write(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Take the rows of requests that reached the prefix cache, in their order."""
        for row, request_id in enumerate(columns["id"]):
            place = self._place_of(str(request_id))
            self._semantic_only(place)
            own = {name: [values[row]] for name, values in columns.items()}
            self._writer.write(own | _columns(self._run, range(place, place + 1)))
            self._written = place + 1

    def _place_of(self, request_id: str) -> int:
        """Return where the next miss of that id stands; the prefix cache may leave some out."""
        asked = self._run.asked
        place = self._written
        while place < len(asked):
            if self._missed[place] and asked[place].id == request_id:
                return place
            place += 1
        raise UsageError(
            "--per-request: some records say when they arrived and some do not, so that the two "
            "caches see them in different orders; give all a time, or none"
        )

    def _semantic_only(self, end: int) -> None:
        while self._written < end:
            part = range(self._written, min(end, self._written + BATCH_ROWS))
            self._writer.write(_columns(self._run, part))
            self._written = part.stop

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write the rows behind the last one that reached the prefix cache, and close."""
        if error is None:
            self._semantic_only(len(self._run.asked))
        self._writer.__exit__(kind, error, trace)


def _columns(run: SemanticRun, part: range) -> dict[str, Sequence[Any]]:
    served, donors = run.served, [int(run.served.donors[i]) for i in part]
    verdicts = [int(run.verdicts.each[i]) for i in part]
    hit = [donor != NOBODY for donor in donors]
    return {
        "id": [run.asked[i].id for i in part],
        "semantic_hit": hit,
        "semantic_donor": [run.asked[d].id if d != NOBODY else None for d in donors],
        "similarity": [
            float(served.similarities[i]) if h else None for i, h in zip(part, hit, strict=True)
        ],
        "false_hit": [None if v == UNKNOWN else v == WRONG for v in verdicts],
    }
