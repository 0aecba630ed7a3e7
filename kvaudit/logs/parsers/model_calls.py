"""A parser for logs that hold more than model calls.

Traces record the chain, the tools and the model call, each with the prompt it saw; gateways
record embeddings beside chats. Only model calls are requests, and what else there was is
counted by reason. A record may wrap several entries; it is understood as a whole or not at all.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from kvaudit.core.requests import Request
from kvaudit.core.summaries import Note
from kvaudit.logs.format import Row

Entry = TypeVar("Entry")


def itself(row: Row) -> Iterable[Row]:
    """Return the record as its own only entry."""
    return (row,)


class ModelCalls(Generic[Entry]):
    """Turns those entries of each record that are model calls into requests."""

    def __init__(
        self,
        to_request: Callable[[Entry], Request],
        *,
        why_not: Callable[[Entry], str | None],
        entries: Callable[[Row], Iterable[Entry]],
    ) -> None:
        """Take ``why_not``, which returns the reason why an entry is no model call, or None."""
        self._to_request = to_request
        self._why_not = why_not
        self._entries = entries
        self.skipped: Counter[str] = Counter()
        self.notes: list[Note] = []

    def parse(self, row: Row) -> Iterable[Request]:
        """Return the requests of one record."""
        requests = []
        reasons: Counter[str] = Counter()
        for entry in self._entries(row):
            reason = self._why_not(entry)
            if reason is None:
                requests.append(self._to_request(entry))
            else:
                reasons[reason] += 1
        self.skipped += reasons
        return requests

    def finish(self) -> Iterable[Request]:
        """Return nothing: no record is held back."""
        return ()
