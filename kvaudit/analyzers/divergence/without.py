"""How prompts go on that have nothing at a place where others have a text of their own."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.divergence.fingerprints import found_at
from kvaudit.analyzers.divergence.relatives import GRAM

_MOST = 64
"""Texts with which prompts go on behind one beginning; the rarest are not looked for."""


class Without:
    """What follows a beginning, by the requests that have nothing in between."""

    def __init__(self) -> None:
        """Know nothing."""
        self._follow: dict[bytes, Counter[bytes]] = {}

    def add(self, units: NDArray[np.int32], at: int) -> None:
        """Note a prompt that has nothing at a unit."""
        following = units[at : at + GRAM]
        if len(following) == GRAM:
            self._follow.setdefault(_key(units, at), Counter())[following.tobytes()] += 1

    def end(self, units: NDArray[np.int32], start: int) -> int | None:
        """Return where a text ends that begins at a unit; None where no prompt shows it."""
        following = self._follow.get(_key(units, start))
        if following is None:
            return None
        # Several tenants or applications may begin alike: each goes on with its own text.
        for run, _ in following.most_common(_MOST):
            at = found_at(units[start:], np.frombuffer(run, units.dtype))
            if at is not None:
                return start + at
        return None


def _key(units: NDArray[np.int32], at: int) -> bytes:
    return blake2b(units[:at].tobytes(), digest_size=16).digest()
