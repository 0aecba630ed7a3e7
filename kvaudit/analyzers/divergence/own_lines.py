"""Where a value ends with its line, though the line behind it differs as well.

Requests agree again in a run of many units. Two values in lines that follow one another have no
such run in between, and a fix of the first would move the second too.
"""

from __future__ import annotations

import re

import numpy as np

from kvaudit.analyzers.divergence.fingerprints import common_units
from kvaudit.analyzers.divergence.follow import Divergences
from kvaudit.analyzers.divergence.instructions import in_instructions
from kvaudit.analyzers.divergence.verdict import Pair
from kvaudit.analyzers.template.request_log.texts import shared_head
from kvaudit.core.why import Cause
from kvaudit.tokens.tokenizer import Tokenizer

ONE_LINE = frozenset(
    (
        Cause.SUB_DAY_CLOCK,
        Cause.CALENDAR_DATE,
        Cause.RANDOM_ID,
        Cause.COUNTER,
        Cause.IDENTITY,
        Cause.SESSION_VALUE,
        Cause.PARAMETER_CHANGE,
    )
)
"""Causes of which the text is a value in a line, and no running text."""
_LINE = re.compile(r"[^\n]*\n*")
_MOST_LINES = 8


class OwnLines:
    """Tells of pairs that part at one cause where its lines end in both."""

    def __init__(self, found: Divergences, tokenizer: Tokenizer, cause: Cause) -> None:
        """Look at the texts of what was followed, of one cause."""
        self._found, self._tokenizer, self._cause = found, tokenizer, cause

    def reach(self, place: int, kin: int, shared: int) -> tuple[int, int] | None:
        """Return how many units of both, from where they part, are the cause's own lines.

        None where the two agree behind these, and where the text does not show it.
        """
        numbers = self._found.number_of(place), self._found.number_of(kin)
        found = self._found.parting(*numbers)
        if found is None:
            return None
        start = found[2].later.rfind("\n", 0, found[2].offset) + 1
        ends = self._ends(Pair(*found, same_session=False), start)
        if ends is None:
            return None
        lines = [found[2].later[start : ends[0]], found[2].earlier[start : ends[1]]]
        mine, yours = self._tokenizer.encode_batch(lines)
        common = common_units(mine, yours)
        tails = mine[common:], yours[common:]
        for tail, at in zip(tails, (place, kin), strict=True):
            prompt = self._found.relatives.prompt(at)[shared : shared + len(tail)]
            if not np.array_equal(prompt, tail):
                return None  # a token reaches over the beginning or the end of the line
        return len(tails[0]), len(tails[1])

    def _ends(self, pair: Pair, start: int) -> tuple[int, int] | None:
        """Return the characters at which the lines of the cause end, if others follow."""
        part = pair.parting
        ends = _line_end(part.later, start), _line_end(part.earlier, start)
        for _ in range(_MOST_LINES):
            mine, yours = part.later[ends[0] :], part.earlier[ends[1] :]
            lines = _LINE.match(mine), _LINE.match(yours)
            if lines[0] is None or lines[1] is None or lines[0][0] == lines[1][0]:
                return None
            rest = part._replace(later=mine, earlier=yours, offset=shared_head(mine, yours))
            if in_instructions(pair._replace(parting=rest)).cause is not self._cause:
                return ends
            ends = ends[0] + lines[0].end(), ends[1] + lines[1].end()
        return None


def _line_end(text: str, start: int) -> int:
    """Return where the line that begins at a character ends, with the blank ones behind it."""
    found = _LINE.match(text, start)
    return len(text) if found is None else found.end()
