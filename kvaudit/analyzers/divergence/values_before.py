"""Values in lines of their own between a running text and the fixed text behind it.

Passages that are moved leave a clock behind them where it is: that is another fault. What belongs
to the passages is told by the lines in front of the fixed text: one that fills in the template of a
value which parts other requests, or a short one with a value where nearly all requests have one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.divergence.follow import Divergences
from kvaudit.analyzers.divergence.group import fills
from kvaudit.analyzers.divergence.lone_lines import SENTENCES, value_of
from kvaudit.analyzers.divergence.own_lines import ONE_LINE
from kvaudit.analyzers.divergence.slots import SLOT, Slot, length, words_of
from kvaudit.core.why import Cause
from kvaudit.tokens.tokenizer import Decodes

_REACH = 64
"""Units in front of the fixed text in which lines are looked at."""
_NEARLY_ALL = 0.8
_OFTEN = 0.2
_LEAST_OFTEN = 3
"""Of the prompts that were looked at, those that have one line, for it to be fixed."""
_LEAST_LABEL = 4
"""Characters of fixed words that make a template of its own."""


class ValuesBefore:
    """Tells where lines of values begin that end at a unit."""

    def __init__(self, found: Divergences, of: dict[int, Cause], tokenizer: Decodes) -> None:
        """Know the values that part requests of the log."""
        self._tokenizer = tokenizer
        self._templates = [
            g.words for g in found.groups.all if of[g.number] in ONE_LINE and _says(g.words)
        ]
        self._always = False
        self._heads: set[str] = set()
        """Short fixed lines in front of values, of which the fixed text is too far apart."""

    def look(self, ends: Sequence[tuple[NDArray[np.int32], int]]) -> None:
        """Look at some prompts and where fixed text begins in them, for what most of them have."""
        lines = [self._line(units, end) for units, end in ends]
        with_value = sum(line is not None and _is_value(line[0]) for line in lines)
        self._always = bool(lines) and with_value >= _NEARLY_ALL * len(lines)
        heads = Counter(
            line[0]
            for units, end in ends
            if (start := self._without_values(units, end, 0)) < end
            and (line := self._line(units, start)) is not None
        )
        often = max(_LEAST_OFTEN, _OFTEN * heads.total())
        self._heads = {line for line, count in heads.items() if count >= often}

    def start(self, units: NDArray[np.int32], end: int, least: int) -> int:
        """Return where such lines begin, but not in front of ``least``; the end without any."""
        start = self._without_values(units, end, least)
        line = self._line(units, start)
        return (
            line[1] if line is not None and line[0] in self._heads and line[1] >= least else start
        )

    def _without_values(self, units: NDArray[np.int32], end: int, least: int) -> int:
        while (found := self._line(units, end)) is not None:
            line, start = found
            known = any(fills(words, _words(line)) for words in self._templates)
            if start < least or not (known or (self._always and _is_value(line))):
                break
            end = start
        return end

    def _line(self, units: NDArray[np.int32], end: int) -> tuple[str, int] | None:
        """Return the last line in front of a unit that is not blank, and where it begins."""
        first = max(end - _REACH, 0)
        pieces = [self._tokenizer.decode(units[at : at + 1]) for at in range(first, end)]
        text = "".join(pieces).rstrip()
        start = text.rfind("\n") + 1
        if (not start and first) or start >= len(text):
            return None
        offsets = [0, *accumulate(map(len, pieces))]
        at = next(n for n, offset in enumerate(offsets) if offset >= start)
        return text[start:], first + at


def _is_value(line: str) -> bool:
    return length(line) < SENTENCES and value_of(line) is not None


def _words(line: str) -> tuple[str, ...]:
    return words_of(Slot(line, "", "", "", 0))[:-1]


def _says(words: tuple[str, ...]) -> bool:
    return sum(length(word) for word in words if word != SLOT and word.isalnum()) >= _LEAST_LABEL
