"""What a conversation sent before, in whichever of its requests.

A history that is changed on every turn has what was sent before in pieces: what the last request
has of it, and what an earlier one has that was changed in another way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvaudit.analyzers.divergence.fingerprints import common_units, repeated
from kvaudit.analyzers.divergence.kin import NEARLY, Kin, Met
from kvaudit.analyzers.divergence.relatives import GRAM, Relatives

HEAD_OF_ANSWER = 8
"""Tokens that a template puts at the end of a prompt, and not into the next one."""
_MOST = 16
"""Earlier requests of a conversation that are looked at, the newest first."""
_ENOUGH = 0.9
"""Share of what follows: where the ones looked at have it, no other is."""


class Conversations:
    """The requests of each session, by their namespace and their place in replay order."""

    def __init__(self) -> None:
        """Start with no session."""
        self._of: dict[str, list[tuple[int, int]]] = {}

    def add(self, session: str | None, namespace: int, place: int) -> None:
        """Note the next request, if it is of a session."""
        if session is not None:
            self._of.setdefault(session, []).append((namespace, place))

    def last(self, session: str | None) -> int | None:
        """Return the place of a session's last request; None where it has none yet."""
        known = None if session is None else self._of.get(session)
        return known[-1][1] if known else None

    def candidates(
        self,
        session: str | None,
        namespace: int,
        prompt: NDArray[np.int32],
        met: Met,
        relatives: Relatives,
    ) -> list[Kin]:
        """Return the relatives to look at, in this order; none where it goes on from its own last.

        Its own conversation says more than one in which the same was said.
        """
        found = met.candidates()
        own = next(
            (p for space, p in reversed(self._of.get(session or "", [])) if space == namespace),
            None,
        )
        if own is None or not found:
            return found
        kin = next((each for each in found if each.place == own), None)
        kin = kin or relatives.compared(own, prompt, met.shared_units)
        if kin.shared_units >= relatives.length(own) - HEAD_OF_ANSWER:
            return []
        others = [each for each in found if each.place != own]
        first = kin.again_units >= NEARLY * found[0].again_units
        return [kin, *others] if first else [*others, kin]

    def sent_units(
        self,
        session: str | None,
        namespace: int,
        prompt: NDArray[np.int32],
        kin: Kin,
        shared: int,
        relatives: Relatives,
    ) -> int:
        """Return how many units of a prompt, behind ``shared``, its session sent before.

        In runs that its relative, or one of the session's requests, has behind the place where the
        two part. What follows the last one's newest message is new, whatever phrases are in it.
        """
        sent = np.zeros(len(prompt) - shared, np.bool_)
        known = self._of.get(session, []) if session is not None else []
        places = [place for space, place in known[: -_MOST - 1 : -1] if space == namespace]
        for place in dict.fromkeys((kin.place, *places)):
            other = relatives.prompt(place)
            common = common_units(prompt, other)
            sent |= repeated(prompt[common:], other[common:], GRAM)[shared - common :]
            if sent.sum() >= _ENOUGH * len(sent):
                break
        new = relatives.new_units(places[0] if places else kin.place, prompt)
        return int(sent[: max(len(sent) - new, 0)].sum())
