"""Which capacities a curve is shown at when none are named.

Sizes of caches differ by factors, so a grid is geometric, from the least cache that holds the
largest request to the least one that loses nothing. Numbers are rounded up to two digits: a
curve is read, and 4,300 blocks say as much as 4,271 do.
"""

from __future__ import annotations

import math

POINTS = 16
"""On a screen they fit in half a page; two of them are at most a factor of two apart on a log
with a working set of 30,000 times its largest request."""
REPLAYED_POINTS = 9
"""Where every point costs a replay."""
FACTOR = 1.25
"""Neighbours are at least so far apart."""


def default_grid(least: int, full: int, points: int) -> list[int | None]:
    """Return capacities from ``least`` to ``full``, both in blocks, and None for no bound."""
    least, full = max(least, 1), max(full, least, 1)
    steps = min(points - 2, int(math.log(full / least) / math.log(FACTOR)))
    ratio = (full / least) ** (1 / max(steps, 1))
    grid = {rounded_up(least * ratio**step) for step in range(steps)}
    return [*sorted(c for c in grid if c < full), full, None]


def rounded_up(value: float) -> int:
    """Return the next whole number of at most two digits and zeros behind them."""
    whole = math.ceil(value - 1e-9)
    unit: int = 10 ** max(len(str(whole)) - 2, 0)
    return -(-whole // unit) * unit
