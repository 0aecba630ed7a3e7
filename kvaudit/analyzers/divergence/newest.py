"""Where the newest message begins in a prompt that is one text."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.divergence.line_breaks import LineBreaks
from kvaudit.analyzers.divergence.turns import turns_of


def newest_turn(units: NDArray[np.int32], breaks: LineBreaks) -> int | None:
    """Return at which unit the user's last turn begins; None where the text spells no turns."""
    text = breaks.text(units)
    starts = [turn.start for turn in turns_of(text) if turn.role == "user"]
    if not starts:
        return None
    cuts = range(len(units) + 1)
    return bisect_right(cuts, starts[-1], key=lambda cut: len(breaks.text(units[:cut]))) - 1


def line_before(units: NDArray[np.int32], at: int, breaks: LineBreaks) -> int:
    """Return where the line begins that holds a unit, which may begin there itself."""
    ends = breaks.lines(units)
    before = ends[ends <= at]
    return int(before[-1]) if len(before) else 0


def last_paragraph(units: NDArray[np.int32], breaks: LineBreaks) -> int:
    """Return where the last paragraph begins."""
    ends = breaks.paragraphs(units)
    return int(ends[-2]) if len(ends) > 1 else 0
