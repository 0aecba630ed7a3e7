"""Records that hold a whole session: taken apart into its requests.

Chat data sets store a finished dialogue, not the calls. Each assistant turn was the answer to
a request whose prompt was everything before it, so that is what is rebuilt. System prompts
that were not stored, and turns that were edited or cut, are beyond repair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from kvaudit.core.requests import Json, Mark, Request, Status
from kvaudit.core.summaries import Note
from kvaudit.logs.format import Row


class EachSession:
    """A parser for formats where a record holds any number of requests."""

    def __init__(self, requests_in: Callable[[Row, int], Iterable[Request]]) -> None:
        """Take ``requests_in``, which gets a record and its number in the file, from 1."""
        self._requests_in = requests_in
        self._sessions = 0
        self.skipped: Counter[str] = Counter()
        self.notes: list[Note] = []

    def parse(self, row: Row) -> Iterable[Request]:
        """Return the session's requests."""
        self._sessions += 1
        found = list(self._requests_in(row, self._sessions))
        if not found:
            self.skipped["session without a request"] += 1
        return found

    def finish(self) -> Iterable[Request]:
        """Return nothing: no record is held back."""
        return ()


def requests_of(
    turns: Sequence[Json],
    *,
    session: str,
    model: str | None = None,
    user: str | None = None,
    arrived_s: Sequence[float | None] | None = None,
) -> Iterator[Request]:
    """Yield one request for each assistant turn, marked where its history is not in the log.

    ``arrived_s`` holds a time for each turn: a request arrives with the turn before its answer.
    """
    parent: str | None = None
    for position, turn in enumerate(turns):
        if turn["role"] != "assistant":
            continue
        request_id = f"{session}/{position}"
        # A dialogue that opens with an answer was cut from a longer one.
        cut_off = turns[0]["role"] == "assistant"
        yield Request(
            id=request_id,
            arrived_s=arrived_s[position - 1] if arrived_s and position else None,
            status=Status.OK,
            model=model,
            user=user,
            session=session,
            parent=parent,
            messages=list(turns[:position]),
            response=turn["content"] if isinstance(turn["content"], str) else None,
            marks=frozenset({Mark.HISTORY_NOT_LOGGED}) if cut_off else frozenset(),
        )
        parent = request_id
