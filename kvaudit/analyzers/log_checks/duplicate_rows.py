"""The same request logged more than once: a retry of the exporter, or a span of each layer."""

from __future__ import annotations

import numpy as np

from kvaudit.analyzers.log_checks.facts import LogFacts, Modelled
from kvaudit.core.why import LogCheck


def check(log: LogFacts, modelled: Modelled | None) -> LogCheck | None:
    """Count rows of which the id and the text, or text, times, session and answer, were there."""
    known = log.text != 0
    again = known & _repeats(np.stack((log.id, log.text), axis=1))
    again |= (log.row != 0) & _repeats(log.row[:, None])
    count = int(again.sum())
    if not count:
        return None
    return LogCheck(
        check="duplicate-rows",
        count=count,
        message=(
            "the same id and text, or the same text, times, session and answer, as an earlier row; "
            "each is replayed and hits its own copy, so the hit rate is too high: log the model's "
            "own calls only, once each"
        ),
    )


def _repeats(rows: np.ndarray) -> np.ndarray:
    """Return which rows were there before."""
    _, first = np.unique(rows, axis=0, return_index=True)
    repeated = np.ones(len(rows), np.bool_)
    repeated[first] = False
    return repeated
