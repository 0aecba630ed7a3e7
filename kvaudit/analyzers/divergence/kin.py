"""An earlier request beside a later one, and what is known of one against all earlier ones."""

from __future__ import annotations

from typing import NamedTuple

NEARLY = 0.9
"""Share of what another one has of what follows, with which the nearest is the one to look at."""


class Kin(NamedTuple):
    """An earlier request, compared with a later one."""

    place: int
    """Its place in replay order."""
    shared_units: int
    """Units of the prefix both have."""
    again_units: int
    """How many of the later one's units, behind the longest prefix that it shares with any
    request, stand in this one too, behind the prefix with this one, in runs of at least `GRAM`."""
    onward_units: int
    """How many of those would be shared if the two did not part: all that follows where they agree
    again is the same, up to there."""
    longest_units: int
    """How many of those stand in the longest piece."""
    resumes_units: int | None
    """Units from where the two part to where they agree again; None if they never do."""
    unseen_units: int
    """All units behind the longest prefix that is shared with any request."""
    far: bool = False
    """It parts where others do not: its units are those that both would go on to share."""


class Met(NamedTuple):
    """What is known of one request against all earlier ones of its namespace."""

    place: int
    shared_units: int
    nearest: Kin | None
    """The one with the longest shared prefix; None where nothing is shared, or nothing follows,
    and where another has nearly all of what follows."""
    best: Kin | None
    """The one that has most of what follows; often the nearest."""
    beside: int
    """Place of the one with the longest shared prefix, compared or not; -1 where there is none."""

    def candidates(self) -> list[Kin]:
        """Return the nearest relative, unless another one has clearly more of what follows.

        Where that one parts at another place and shows nothing there, the nearest may.
        """
        nearest, best = self.nearest, self.best
        if nearest is None or best is None:
            return [kin for kin in (best or nearest,) if kin is not None]
        if nearest.again_units >= NEARLY * best.again_units:
            return [nearest]
        return [best, nearest] if best.far else [best]
