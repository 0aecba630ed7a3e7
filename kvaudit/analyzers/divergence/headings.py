"""Passages behind a heading, in prompts that part from all others in front of it.

Pairs that part in passages show where these begin. Where a value stands in front of them, a request
parts at that, and no pair shows its passages: they stand behind the heading that others have, and
end where the same text follows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.divergence.destinations import end_of_first
from kvaudit.analyzers.divergence.fingerprints import found_at
from kvaudit.analyzers.divergence.line_breaks import LineBreaks
from kvaudit.analyzers.divergence.lone_lines import SENTENCES
from kvaudit.analyzers.divergence.relatives import GRAM
from kvaudit.analyzers.divergence.slots import length
from kvaudit.analyzers.divergence.spans import Span

_MOSTLY = 0.5
"""Share of the texts that stand behind one line, for that to be their heading."""
_OFTEN = 3
"""Texts that are followed by the same, for others to end there."""
_MOST = 16
"""Texts that follow, one for each tenant or application; the rarest are not looked for."""


class Headings:
    """Finds texts by the heading in front of them, in the first message of each prompt."""

    def __init__(
        self,
        prompt: Callable[[int], NDArray[np.int32]],
        breaks: LineBreaks,
        end_of_turn: int | None,
    ) -> None:
        """Take how a request's prompt is read, by its place."""
        self._prompt, self._breaks, self._end_of_turn = prompt, breaks, end_of_turn

    def found(self, count: int, spans: Mapping[int, list[Span]]) -> dict[int, Span]:
        """Return the text behind the heading in each of ``count`` prompts that has both.

        ``spans`` are those that pairs have shown.
        """
        heading, following = self._known(spans)
        texts: dict[int, Span] = {}
        for place in range(count) if len(heading) else ():
            units = self._instructions(place)
            at = self._at_line(units, heading)
            if at is None:
                continue
            start = at + len(heading)
            ends = (found_at(units[start:], run) for run in following)
            end = next((end for end in ends if end is not None), None)
            if end:
                texts[place] = start, start + end
        return texts

    def _known(
        self, spans: Mapping[int, list[Span]]
    ) -> tuple[NDArray[np.int32], list[NDArray[np.int32]]]:
        """Return the line behind which most texts begin, and what follows them."""
        heads: Counter[bytes] = Counter()
        behind: Counter[bytes] = Counter()
        for place, own in spans.items():
            start, end = next((span for span in own if span[0] < span[1]), (0, 0))
            units = self._instructions(place)
            if not start < end < len(units):
                continue
            lines = [0, *self._breaks.lines(units).tolist()]
            line = bisect_right(lines, start) - 1  # texts may begin alike, in the middle of one
            # Where messages end, the first line is the role.
            first = 1 if len(units) < len(self._prompt(place)) else 0
            if line > first:
                heads[units[lines[line - 1] : lines[line]].tobytes()] += 1
            behind[units[end : end + GRAM].tobytes()] += 1
        nothing = np.empty(0, np.int32)
        most, often = heads.most_common(1)[0] if heads else (b"", 0)
        heading = np.frombuffer(most, np.int32)
        if often < max(_OFTEN, _MOSTLY * behind.total()) or not self._is_heading(heading):
            return nothing, []
        following = [run for run, n in behind.most_common(_MOST) if n >= _OFTEN]
        return heading, [np.frombuffer(run, np.int32) for run in following]

    def _is_heading(self, units: NDArray[np.int32]) -> bool:
        text = self._breaks.text(units)
        return any(map(str.isalpha, text)) and length(text) < SENTENCES

    def _at_line(self, units: NDArray[np.int32], heading: NDArray[np.int32]) -> int | None:
        """Return where a line is the heading."""
        at = found_at(units, heading)
        begins = at == 0 or (at is not None and at in self._breaks.lines(units))
        return at if begins else None

    def _instructions(self, place: int) -> NDArray[np.int32]:
        units = self._prompt(place)
        return units[: end_of_first(units, self._end_of_turn)]
