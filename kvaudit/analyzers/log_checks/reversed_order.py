"""A log without times whose conversations run backwards, as exports are often newest first."""

from __future__ import annotations

import numpy as np

from kvaudit.analyzers.log_checks.facts import LogFacts, Modelled
from kvaudit.core.why import LogCheck

_LEAST = 3
"""So many conversations may be told from the other way round by chance alone."""


def check(log: LogFacts, modelled: Modelled | None) -> LogCheck | None:
    """Count requests that come before the one they go on from, where file order is all there is."""
    if not np.isnan(log.arrived_s).all():
        return None  # they are replayed by time of arrival
    before = after = 0
    whole = log.chain[log.ends[1:][np.diff(log.ends) > 0] - 1]
    place = {int(mark): number for number, mark in enumerate(whole.tolist())}
    numbers = np.flatnonzero(np.diff(log.ends) > 0).tolist()
    for at, number in enumerate(numbers):
        inner = log.chain[log.ends[number] : log.ends[number + 1] - 1].tolist()
        earlier = next((place[mark] for mark in reversed(inner) if mark in place), None)
        if earlier is not None:
            before += earlier > at
            after += earlier < at
    if before < _LEAST or before <= 2 * after:
        return None
    return LogCheck(
        check="reversed-order",
        count=before,
        message=(
            "before the request that they go on from: the log has no times and is newest first; "
            "turn it round, or nothing that a conversation reuses is seen to be reused"
        ),
    )
