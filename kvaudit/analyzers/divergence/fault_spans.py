"""Which text a fix moves: what a fault's requests part at, told by lines where it has its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.divergence.fillings import Fillings
from kvaudit.analyzers.divergence.fixed_text import FixedText
from kvaudit.analyzers.divergence.follow import Divergences
from kvaudit.analyzers.divergence.headings import Headings
from kvaudit.analyzers.divergence.labels import labels_of
from kvaudit.analyzers.divergence.line_breaks import LineBreaks
from kvaudit.analyzers.divergence.own_lines import ONE_LINE, OwnLines
from kvaudit.analyzers.divergence.pair_spans import PairSpans
from kvaudit.analyzers.divergence.spans import Span, Spans
from kvaudit.analyzers.divergence.two_prompts import causes_of
from kvaudit.analyzers.divergence.values_before import ValuesBefore
from kvaudit.analyzers.divergence.verdict import CONTENT
from kvaudit.core.why import Cause
from kvaudit.tokens.tokenizer import Decodes, Tokenizer

_HAS_LINES = "system"
"""Where texts are told by their lines: other places hold what is said, or JSON."""


class FaultSpans:
    """Finds the texts of faults in all prompts of a log."""

    def __init__(
        self, found: Divergences, tokenizer: Tokenizer | None, end_of_turn: int | None
    ) -> None:
        """Take what was followed. Without a tokenizer there are no lines."""
        self._found, self._tokenizer, self._end_of_turn = found, tokenizer, end_of_turn
        self._decodes: Decodes | None = tokenizer if isinstance(tokenizer, Decodes) else None
        # One for all faults: what it has looked up of a token holds for each.
        self._breaks: LineBreaks | None = (
            LineBreaks(self._decodes) if self._decodes is not None else None
        )
        self._causes = causes_of(found)
        self._told: dict[Cause, Mapping[int, list[Span]] | None] = {}

    def faults(self) -> set[tuple[Cause, str]]:
        """Return cause and position of all groups that requests belong to."""
        met = set(self._found.columns()["group"].tolist())
        groups = self._found.groups.all
        return {(self._causes[g.number], g.position) for g in groups if g.number in met}

    def groups(self, cause: Cause, position: str) -> list[int]:
        """Return the numbers of a fault's groups."""
        groups = self._found.groups.all
        return [
            g.number for g in groups if (self._causes[g.number], g.position) == (cause, position)
        ]

    def spans(self, cause: Cause, position: str, *, content: bool) -> Spans:
        """Return the texts of a fault; ``content`` is made of pieces that come back elsewhere."""
        members = self._members(cause, position)
        fixed = FixedText(self._found.relatives, members, self._found.columns())
        told = None
        if position == _HAS_LINES and not content:
            told = self._filled_in(cause)
        if told is None:
            told = self._from_pairs(cause, position, members, fixed if content else None)
        if position == _HAS_LINES and content:
            told = self._without_others(cause, told)
        return Spans(self._found, told, fixed, self._breaks)

    def _members(self, cause: Cause, position: str) -> NDArray[np.int64]:
        groups = self._found.columns()["group"]
        return np.flatnonzero(np.isin(groups, self.groups(cause, position)))

    def _filled_in(self, cause: Cause) -> Mapping[int, list[Span]] | None:
        """Return the lines or paragraphs of a cause; None where they do not account for it."""
        if cause not in self._told:
            members, told = self._members(cause, _HAS_LINES), None
            if self._breaks is not None and len(members):
                quoted = cause is Cause.USER_TEXT_FIRST
                groups = [self._found.groups.all[n] for n in self.groups(cause, _HAS_LINES)]
                told = Fillings(
                    self._found,
                    members,
                    self._breaks,
                    self._end_of_turn,
                    paragraphs=cause not in ONE_LINE,
                    quoted=quoted,
                    beside=self._values() if quoted else (),
                    labels=labels_of(g.words for g in groups) if cause in ONE_LINE else (),
                    followed=bool(self._at_lines() & set(CONTENT)),
                ).spans()
            self._told[cause] = told
        return self._told[cause]

    def _from_pairs(
        self, cause: Cause, position: str, members: NDArray[np.int64], content: FixedText | None
    ) -> Mapping[int, list[Span]]:
        lines = values = headings = None
        if self._tokenizer is not None and cause in ONE_LINE:
            lines = OwnLines(self._found, self._tokenizer, cause)
        if self._decodes is not None and content is not None:
            values = ValuesBefore(self._found, self._causes, self._decodes)
        passages = cause is Cause.RETRIEVED_CONTEXT_FIRST and position == _HAS_LINES
        if self._breaks is not None and content is not None and passages:
            headings = Headings(self._found.relatives.prompt, self._breaks, self._end_of_turn)
        return PairSpans(
            self._found, members, content=content, lines=lines, values=values, headings=headings
        ).of

    def _without_others(
        self, cause: Cause, told: Mapping[int, list[Span]]
    ) -> Mapping[int, list[Span]]:
        """Leave the values of other faults where they are, that stand in front of fixed text."""
        others = self._values(Cause.LIVE_STATE)
        return {
            place: _less(own, [span for spans in others for span in spans.get(place, ())])
            for place, own in told.items()
        }

    def _values(self, *more: Cause) -> list[Mapping[int, list[Span]]]:
        """Return the texts of all faults that are values in lines, and of those of ``more``."""
        at = self._at_lines()
        values = (self._filled_in(other) for other in (*ONE_LINE, *more) if other in at)
        return [spans for spans in values if spans is not None]

    def _at_lines(self) -> set[Cause]:
        """Return the causes that stand where texts are told by their lines."""
        groups = self._found.groups.all
        return {self._causes[g.number] for g in groups if g.position == _HAS_LINES}


def _less(spans: Sequence[Span], others: Sequence[Span]) -> list[Span]:
    """Return ranges without what others cover."""
    left = list(spans)
    for a, b in others:
        left = [
            piece
            for start, end in left
            for piece in ((start, min(end, a)), (max(start, b), end))
            if piece[0] < piece[1]
        ]
    return left
