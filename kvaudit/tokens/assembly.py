"""Token ids of many requests, put together from parts of which some are still to come."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kvaudit.tokens.pieces import Special

_ID_BYTES = 4
Part = bytes | int
"""Ids as raw int32 bytes, or the number of a text whose ids are still to come."""


class Assembly:
    """Runs of ids, each a sequence of parts.

    Bytes rather than arrays because joining many small ones is several times as fast.
    """

    def __init__(self) -> None:
        """Start empty."""
        self.parts: list[Part] = []
        """Parts so far; append to it."""
        self.awaited: dict[str | Special, int] = {}
        """Numbers of the texts whose ids are still to come, counted from 0."""
        self._ends: list[int] = []

    def end_run(self) -> None:
        """Close the current run; what is added next belongs to a new one."""
        self._ends.append(len(self.parts))

    def flat(self, arrived: Sequence[bytes]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """All ids, and the bounds of the runs in them; ``arrived`` are those awaited."""
        parts = [arrived[part] if isinstance(part, int) else part for part in self.parts]
        sizes = np.fromiter(map(len, parts), np.int64, len(parts))
        sums = np.concatenate(([0], np.cumsum(sizes)))
        bounds = sums[[0, *self._ends]] // _ID_BYTES
        return np.frombuffer(b"".join(parts), np.int32), bounds
