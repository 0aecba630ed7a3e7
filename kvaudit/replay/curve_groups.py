"""Requests told apart by a field or by the hour, each group with a curve of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.curve import GroupCurve, GroupPoint
from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.curve_pass import Counted, Hits

HOUR = "hour"
"""Groups by the time of arrival instead of a field."""
MOST_GROUPS = 200
"""Smaller groups are put together."""
_UNKNOWN = "(none)"


class Groups:
    """The group of every request, by number."""

    def __init__(self, by: str | None) -> None:
        """Take a field, `HOUR`, or None for one group of all."""
        self.by = by
        self._names: dict[str, int] = {}
        self._keys: list[int] = []
        self._first_s: float | None = None

    def add(self, batch: PromptBatch, requests: int) -> None:
        """Append one batch of so many requests."""
        if self.by is None:
            self._keys += [self._number("all")] * requests
            return
        for facts in batch.requests:
            name = self._hour(facts.arrived_s) if self.by == HOUR else facts.group
            self._keys.append(self._number(_UNKNOWN if name is None else name))

    def _hour(self, arrived_s: float | None) -> str | None:
        if arrived_s is None:
            return None
        if self._first_s is None:
            self._first_s = arrived_s
        return f"hour {int((arrived_s - self._first_s) // 3600)}"

    def _number(self, name: str) -> int:
        return self._names.setdefault(name, len(self._names))

    def counted(self, first: int) -> Counted:
        """Return the groups of all requests, of which those from ``first`` on count."""
        return Counted(first, np.array(self._keys, np.int64), len(self._names))

    def curves(
        self, counted: Counted, prompt_tokens: NDArray[np.int64], points: Sequence[Hits]
    ) -> list[GroupCurve]:
        """Return each group's curve: hours in their order, others by prompt tokens."""
        if self.by is None:
            return []
        keys, size = counted.groups[counted.first :], counted.group_count
        requests = np.bincount(keys, minlength=size)
        tokens = np.zeros(size, np.int64)
        np.add.at(tokens, keys, prompt_tokens[counted.first :])
        names = list(self._names)
        present = [i for i in range(size) if requests[i]]
        if self.by != HOUR:
            present.sort(key=lambda i: (-tokens[i], names[i]))
        shown, rest = present[:MOST_GROUPS], present[MOST_GROUPS:]
        parts = [(names[i], [i]) for i in shown]
        if rest:
            parts.append((f"{len(rest):,} others", rest))
        return [
            GroupCurve(
                group=name,
                requests=int(requests[chosen].sum()),
                prompt_tokens=int(tokens[chosen].sum()),
                curve=[_point(point, chosen, int(tokens[chosen].sum())) for point in points],
            )
            for name, chosen in parts
        ]


def _point(point: Hits, chosen: Sequence[int], prompt_tokens: int) -> GroupPoint:
    hit_tokens = int(point.group_tokens[chosen].sum())
    return GroupPoint(
        capacity_blocks=point.capacity_blocks,
        hit_tokens=hit_tokens,
        hit_rate=hit_tokens / prompt_tokens if prompt_tokens else None,
    )
