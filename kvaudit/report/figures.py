"""Figures as a reader sees them: thousands separators, one unit a column, a dash for none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvaudit.core.curve import CurvePoint
    from kvaudit.core.results import PrefixSummary

NONE = "-"
_UNITS = ((10**12, "T"), (10**9, "G"), (10**6, "M"))


class Scale:
    """One unit for counts that are read side by side, chosen by the largest of them."""

    def __init__(self, counts: Iterable[int]) -> None:
        """Choose the unit; below a million every digit is shown."""
        largest = max(counts, default=0)
        self._divisor, self._unit = next((u for u in _UNITS if largest >= u[0]), (1, ""))

    def __call__(self, count: int | None) -> str:
        """Return ``count`` in this unit."""
        if count is None:
            return NONE
        if not self._unit:
            return f"{count:,}"
        return f"{count / self._divisor:,.1f} {self._unit}"


def compact(count: int) -> str:
    """Return one count on its own: 12,345 or 144.8 M."""
    return Scale([count])(count)


def percent(rate: float | None) -> str:
    """Return a share from 0 to 1 as per cent."""
    return NONE if rate is None else f"{100 * rate:.1f} %"


def rate_of(found: PrefixSummary | CurvePoint | None) -> str:
    """Return a hit rate; where the log only bounds it, both ends."""
    if found is None:
        return NONE
    if found.bounds is None:
        return percent(found.hit_rate)
    return range_of(found.bounds.low, found.bounds.high)


def range_of(low: float, high: float) -> str:
    """Return two rates as a range, or as one where they look the same."""
    return percent(low) if percent(low) == percent(high) else f"{100 * low:.1f}–{percent(high)}"


def span(seconds: float) -> str:
    """Return a time span in the unit a reader would choose."""
    for limit, divisor, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / divisor:.0f} {unit}"
    return f"{seconds / 86_400:.1f} days"


def plural(count: int, noun: str) -> str:
    """Return ``count`` with its noun, which takes an s."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
