"""Turns that a history shows and the log lacks: it was sampled, filtered or cut."""

from __future__ import annotations

import numpy as np

from kvaudit.analyzers.log_checks.facts import LogFacts, Modelled
from kvaudit.core.why import LogCheck


def check(log: LogFacts, modelled: Modelled | None) -> LogCheck | None:
    """Count the model's turns in histories that no request of the log asked for.

    A history is followed from the longest part of it that was itself a request. The first turn of
    the model behind that is its answer; each further one was asked by a request that is missing,
    unless another request ends with the same question or has that answer: parallel calls are put
    together to one history. One of which no part was a request says nothing: it may be examples.
    """
    sizes = np.diff(log.ends)
    last = log.ends[1:][sizes > 0] - 1
    asked, questions = set(log.chain[last].tolist()), set(log.content[last].tolist())
    answers = set(log.response[log.response != 0].tolist())
    missing: set[int] = set()
    for number in np.flatnonzero(sizes > 1).tolist():
        start, end = int(log.ends[number]), int(log.ends[number + 1])
        chain, answer = log.chain[start:end].tolist(), log.answer[start:end].tolist()
        content = log.content[start:end].tolist()
        known = next((i for i in range(len(chain) - 2, -1, -1) if chain[i] in asked), None)
        for i in range(len(chain) if known is None else known + 2, len(chain) - 1):
            begins = answer[i] and not answer[i - 1]
            if begins and content[i - 1] not in questions and content[i] not in answers:
                missing.add(chain[i])
    if not missing:
        return None
    return LogCheck(
        check="missing-turns",
        count=len(missing),
        message=(
            "turns of the model stand in histories, and no request of the log asked for them: it "
            "is sampled, filtered by status or cut, and hits on what is missing are not seen"
        ),
    )
