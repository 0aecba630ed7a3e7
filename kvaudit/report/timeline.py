"""A series over time as one line of blocks, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

_LEVELS = "▁▂▃▄▅▆▇█"


def drawn_over_time(
    points: Sequence[tuple[float, int]], *, start: float, end: float, full: int, columns: int
) -> str:
    """Return the largest value in each of ``columns`` parts of the time, as a share of ``full``.

    A part without a point is blank.
    """
    largest = [-1] * columns
    length = end - start
    for at, value in points:
        column = min(int((at - start) / length * columns), columns - 1) if length else 0
        largest[column] = max(largest[column], value)
    top = len(_LEVELS) - 1
    return "".join(
        " " if value < 0 else _LEVELS[min(-(-value * top // full), top)] for value in largest
    )
