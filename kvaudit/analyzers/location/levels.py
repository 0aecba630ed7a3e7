"""How often a value changes, told from the values that a log has of it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kvaudit.core.document import Volatility

LEAST_REQUESTS = 10
"""Fewer values say nothing of how often one changes."""
_MOSTLY_NEW = 0.9
_RUN = 5
"""Requests that a value of a release serves at least, one with the other."""


@dataclass(frozen=True, slots=True)
class Met:
    """One value, and the request that had it."""

    value: Hashable
    day: int | None
    owner: Hashable
    """Tenant and user; None where the log names neither."""
    session: Hashable


def level_of(met: Sequence[Met]) -> Volatility | None:
    """Return the steadiest level that explains all values, in order of arrival; None for too few.

    A value that follows the day, the owner or the session follows it without an exception. One that
    changes with none of these, and then stays for long, changes with a release.
    """
    if len(met) < LEAST_REQUESTS:
        return None
    values = [each.value for each in met]
    distinct = len(set(values))
    if distinct == 1:
        return Volatility.CONSTANT
    if _follows((each.day, each.value) for each in met):
        return Volatility.DAY
    runs = 1 + sum(a != b for a, b in pairwise(values))
    if runs == distinct and len(met) >= _RUN * runs and _spans_sessions(met):
        return Volatility.DEPLOY
    if _follows((each.owner, each.value) for each in met):
        return Volatility.IDENTITY
    if _follows((each.session, each.value) for each in met):
        return Volatility.SESSION
    return Volatility.REQUEST if distinct > _MOSTLY_NEW * len(met) else Volatility.TURN


def _follows(pairs: Iterable[tuple[Hashable, Hashable]]) -> bool:
    """Whether what stands first decides the value: several of them, met more than once each."""
    of: dict[Hashable, Hashable] = {}
    count = 0
    for key, value in pairs:
        if key is None or of.setdefault(key, value) != value:
            return False
        count += 1
    return len(of) > 1 and count >= 2 * len(of)


def _spans_sessions(met: Sequence[Met]) -> bool:
    """Whether every value served more than one session, or sessions are not known."""
    sessions: dict[Hashable, set[Hashable]] = {}
    for each in met:
        sessions.setdefault(each.value, set()).add(each.session)
    return all(len(of) > 1 or of == {None} for of in sessions.values())
