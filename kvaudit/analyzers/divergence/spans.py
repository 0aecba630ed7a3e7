"""The text to blame in every prompt, as ranges of its units, and the prompt with that elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.divergence.destinations import (
    LEAST_ENDS,
    Destination,
    ends_of,
    head_of_turn,
    place_for,
)
from kvaudit.analyzers.divergence.fixed_text import FixedText
from kvaudit.analyzers.divergence.follow import Divergences

Span = tuple[int, int]
_STAYS = 0.8


class Spans:
    """The spans of one fault, by a request's place in replay order."""

    def __init__(
        self, found: Divergences, spans: Mapping[int, list[Span]], fixed: FixedText
    ) -> None:
        """Take the ``spans`` of what was followed, and the text that is ``fixed`` behind them."""
        self._found, self._of, self._fixed = found, spans, fixed
        self._head: int | None = None

    def __len__(self) -> int:
        """Return how many requests have such a text."""
        return len(self._of)

    def of(self, place: int) -> list[Span]:
        """Return a request's spans in order, as ranges of units of its prompt."""
        return self._of.get(place, [])

    def moved(
        self, place: int, units: NDArray[np.int32], to: Destination, end_of_turn: int | None
    ) -> NDArray[np.int32]:
        """Return a prompt with its spans elsewhere; ``end_of_turn`` ends each of its messages."""
        spans = [(a, min(b, len(units))) for a, b in self.of(place) if a < len(units)]
        if not spans:
            return units
        gone = np.zeros(len(units), np.bool_)
        for a, b in spans:
            gone[a:b] = True
        rest, moved = units[~gone], units[gone]
        if to is Destination.NOWHERE:
            return rest
        at = place_for(rest, to, end_of_turn)
        if to is Destination.NEWEST:
            if len(ends_of(rest, end_of_turn)) < LEAST_ENDS:
                to = Destination.BEHIND  # of a prompt that is one text, messages are not known
            else:
                at = min(at + self._head_of_turn(end_of_turn), len(rest))
        if to in (Destination.BEHIND, Destination.FIRST):
            behind = min(self._fixed.end(place, spans[-1][1]) - len(moved), len(rest))
            if to is Destination.BEHIND or at == len(rest):
                at = behind
            else:  # examples that are messages of their own are instructions too
                at = max([at, *(e + 1 for e in ends_of(rest, end_of_turn) if at <= e < behind)])
        return np.concatenate([rest[:at], moved, rest[at:]])

    def _head_of_turn(self, end_of_turn: int | None) -> int:
        if self._head is None:
            prompt, followed = self._found.relatives.prompt, range(len(self._found))
            self._head = head_of_turn(map(prompt, followed), end_of_turn)
        return self._head

    def stay(self, sessions: Sequence[str | None]) -> bool:
        """Whether the texts stay the same within sessions, by the session of each place.

        One that some requests of a session have, and others have not, does not.
        """
        last: dict[str, bytes] = {}
        same = pairs = 0
        for place, session in enumerate(sessions):
            if session is None:
                continue
            text = self._text(place)
            before = last.get(session)
            if before is not None and (text or before):
                pairs += 1
                same += before == text
            last[session] = text
        return pairs > 0 and same >= _STAYS * pairs

    def _text(self, place: int) -> bytes:
        spans = self.of(place)
        units = self._found.relatives.prompt(place) if spans else None
        return b"" if units is None else b"".join(units[a:b].tobytes() for a, b in spans)
