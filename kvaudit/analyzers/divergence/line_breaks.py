"""Where the lines and paragraphs of a prompt end, told from its tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvaudit.tokens.tokenizer import Decodes

_BLANK = 8
"""Added to the newlines of a token that has nothing else."""
_UNKNOWN = -1


class LineBreaks:
    """Cuts prompts into lines and paragraphs. Grows by a byte for each token of the vocabulary."""

    def __init__(self, tokenizer: Decodes) -> None:
        """Look tokens up as they are met."""
        self._tokenizer = tokenizer
        self._codes = np.empty(0, np.int8)

    def lines(self, units: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return where lines end, each with the blank ones behind it; the last is cut off."""
        return self._ends(units)[0]

    def paragraphs(self, units: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return where paragraphs end, which a blank line follows; the last is cut off."""
        ends, newlines = self._ends(units)
        return np.unique(np.append(ends[newlines > 1], ends[-1:]))

    def text(self, units: NDArray[np.int32]) -> str:
        """Return units as text."""
        return self._tokenizer.decode(units)

    def _ends(self, units: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where lines end, and how many newlines end each."""
        codes = self._of(units)
        newlines, blank = codes % _BLANK, codes >= _BLANK
        goes_on = np.append(blank[1:], False)
        last = np.flatnonzero((newlines > 0) & ~goes_on)
        if len(units) and not (len(last) and last[-1] == len(units) - 1):
            last = np.append(last, len(units) - 1)
        # A line ends with the newlines of its last token with text, and all of those behind it.
        places = np.arange(len(units))
        with_text = np.maximum.accumulate(np.where(blank, 0, places))[last]
        total = np.cumsum(newlines, dtype=np.int64)
        return last + 1, total[last] - total[with_text] + newlines[with_text]

    def _of(self, units: NDArray[np.int32]) -> NDArray[np.int8]:
        size = int(units.max(initial=-1)) + 1
        if size > len(self._codes):
            more = np.full(size - len(self._codes), _UNKNOWN, np.int8)
            self._codes = np.concatenate([self._codes, more])
        codes: NDArray[np.int8] = self._codes[units]
        if (codes == _UNKNOWN).any():
            for unit in np.unique(units[codes == _UNKNOWN]):
                self._codes[unit] = self._code(unit)
            codes = self._codes[units]
        return codes

    def _code(self, unit: np.int32) -> int:
        text = self._tokenizer.decode(np.array([unit], np.int32))
        newlines = min(text[len(text.rstrip()) :].count("\n"), _BLANK - 1)
        return newlines + (_BLANK if newlines and not text.strip() else 0)
