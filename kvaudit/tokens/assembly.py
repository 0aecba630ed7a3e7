"""Token ids of many requests, put together from parts of which some are still to come."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ID_BYTES = 4


class Assembly:
    """Runs of ids, each a sequence of parts; parts are int32 ids as raw bytes.

    Bytes rather than arrays because joining many small ones is several times as fast.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._parts: list[bytes] = []
        self._ends: list[int] = []
        self.awaited: dict[str, list[int]] = {}
        """Texts whose ids are still to come, with the places that wait for them."""
        self.add = self._parts.append
        """Append ids to the current run."""

    def await_text(self, text: str) -> None:
        """Append the ids of ``text``, which `fill` will bring."""
        self.awaited.setdefault(text, []).append(len(self._parts))
        self._parts.append(b"")

    def fill(self, text: str, ids: bytes) -> None:
        """Bring the ids of an awaited text."""
        for place in self.awaited[text]:
            self._parts[place] = ids

    def end_run(self) -> None:
        """Close the current run; what is added next belongs to a new one."""
        self._ends.append(len(self._parts))

    def flat(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """All ids, and the bounds of the runs in them."""
        sizes = np.fromiter(map(len, self._parts), np.int64, len(self._parts))
        sums = np.concatenate(([0], np.cumsum(sizes)))
        bounds = sums[[0, *self._ends]] // _ID_BYTES
        return np.frombuffer(b"".join(self._parts), np.int32), bounds
