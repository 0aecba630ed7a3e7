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
from kvaudit.analyzers.divergence.fingerprints import common_units
from kvaudit.analyzers.divergence.fixed_text import FixedText
from kvaudit.analyzers.divergence.follow import Divergences
from kvaudit.analyzers.divergence.line_breaks import LineBreaks
from kvaudit.analyzers.divergence.newest import last_paragraph, line_before, newest_turn

Span = tuple[int, int]
_STAYS = 0.8


class Spans:
    """The spans of one fault, by a request's place in replay order."""

    def __init__(
        self,
        found: Divergences,
        spans: Mapping[int, list[Span]],
        fixed: FixedText,
        breaks: LineBreaks | None = None,
    ) -> None:
        """Take the ``spans`` of what was followed, and the text that is ``fixed`` behind them.

        ``breaks`` tells lines; where units have no text, nothing does.
        """
        self._found, self._of, self._fixed, self._breaks = found, spans, fixed, breaks
        self._head: int | None = None
        self._beside: dict[int, tuple[int, ...]] | None = None

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
        gone = self._gone(place, units)
        if not gone.any():
            return units
        rest, moved = units[~gone], units[gone]
        if to is Destination.NOWHERE:
            return rest
        at = place_for(rest, to, end_of_turn)
        if to is Destination.NEWEST and len(ends_of(rest, end_of_turn)) >= LEAST_ENDS:
            at = min(at + self._head_of_turn(end_of_turn), len(rest))
        elif to is not Destination.END:
            behind = self._behind(place, gone, rest)
            if to is Destination.NEWEST:
                at = self._in_one_text(place, rest, behind)
            elif to is Destination.BEHIND or at == len(rest):
                at = behind
            else:  # examples that are messages of their own are instructions too
                at = max([at, *(e + 1 for e in ends_of(rest, end_of_turn) if at <= e < behind)])
        return np.concatenate([rest[:at], moved, rest[at:]])

    def _behind(self, place: int, gone: NDArray[np.bool_], rest: NDArray[np.int32]) -> int:
        """Return where the fixed text ends behind the spans, at the end of a line, in the rest."""
        last = int(np.flatnonzero(gone)[-1]) + 1
        least = last - int(gone.sum())
        behind = min(self._fixed.end(place, last) - last + least, len(rest))
        if self._breaks is None:
            return behind
        # What comes next, as "Question:" in front of each, belongs to the text behind it.
        return max(line_before(rest, behind, self._breaks), least)

    def _in_one_text(self, place: int, rest: NDArray[np.int32], behind: int) -> int:
        """Return where the newest message begins in a prompt whose messages are not known.

        Its text may spell turns. If not, what its session sent before or sends again is history,
        but for the last paragraph.
        """
        if self._breaks is None:
            return max(behind, self._sent_in_session(place, rest))
        turn = newest_turn(rest, self._breaks)
        if turn is not None:
            return max(behind, turn)
        said = line_before(rest, self._sent_in_session(place, rest), self._breaks)
        return max(behind, min(said, last_paragraph(rest, self._breaks)))

    def _gone(self, place: int, units: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which units of a prompt are moved."""
        gone = np.zeros(len(units), np.bool_)
        for a, b in self.of(place):
            gone[a:b] = True
        return gone

    def _sent_in_session(self, place: int, rest: NDArray[np.int32]) -> int:
        """Return how much of a prompt its session sent before or sends again, but for the spans."""
        said = 0
        for other in self._neighbours(place):
            units = self._found.relatives.prompt(other)
            said = max(said, common_units(rest, units[~self._gone(other, units)]))
        return said

    def _neighbours(self, place: int) -> tuple[int, ...]:
        """Return the requests before and after one in its session."""
        if self._beside is None:
            self._beside = {}
            last: dict[str, int] = {}
            for at, session in enumerate(self._found.sessions()):
                before = None if session is None else last.get(session)
                if before is not None:
                    self._beside[before] = (*self._beside.get(before, ()), at)
                    self._beside[at] = (before,)
                if session is not None:
                    last[session] = at
        return self._beside.get(place, ())

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
