"""Whether later requests of a session still have the text at which its first one parted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.divergence.groups import Groups
from kvaudit.analyzers.divergence.kin import Kin
from kvaudit.analyzers.divergence.relatives import GRAM, Relatives
from kvaudit.analyzers.divergence.story import NO_GROUP


class Beginnings:
    """The first request of each session, and where it parted. Tells groups that their text stays.

    A value that differs from session to session, and stays the same within one, is a session's.
    """

    def __init__(self, groups: Groups) -> None:
        """Start with no session."""
        self._groups = groups
        self._of: dict[str, tuple[int, int]] = {}

    def follow(
        self,
        session: str | None,
        group: int,
        place: int,
        kin: Kin | None,
        prompt: NDArray[np.int32],
        relatives: Relatives,
    ) -> None:
        """Take the next request, with its group and its relative."""
        if session is None:
            return
        if session not in self._of:
            parts = kin is not None and group != NO_GROUP
            self._of[session] = (place, kin.shared_units) if kin and parts else (-1, 0)
            return
        begun, at = self._of[session]
        if begun < 0 or group == self._groups.begun(session):
            return
        here = prompt[at : at + GRAM]
        if np.array_equal(relatives.prompt(begun)[at : at + len(here)], here):
            self._groups.stands(session)
