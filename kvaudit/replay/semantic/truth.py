"""Whether a served answer was right: by labels, else by the logged answers, else not known.

A would-be hit can be checked against the log, for there every request has an answer of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.replay.semantic.gather import Asked
from kvaudit.replay.semantic.serving import NOBODY, Served
from kvaudit.replay.semantic.texts import folded

RIGHT, WRONG, UNKNOWN = 0, 1, -1


class Basis(StrEnum):
    """Where verdicts come from, the strongest first."""

    LABELS = "labels"
    ANSWERS = "logged answers"
    RULE = "rule"


DEFINITIONS = {
    Basis.LABELS: "a hit is wrong where its answer_group is not the donor's; hits of requests "
    "without one have no verdict",
    Basis.ANSWERS: "a hit is wrong where its logged answer is not the donor's, but for case and "
    "white space; answers that say the same in other words count as wrong, so the rate is an "
    "overestimate and has no bound; label the hits to get one",
    Basis.RULE: "no false-hit rate: the log has neither answer_group nor responses; add "
    "answer_group (requests with the same value may share an answer), or log the responses. "
    "Suspected are hits whose texts differ in a number, a date, a negation and the like",
}


class Verdicts(NamedTuple):
    """One verdict a request; `UNKNOWN` for a miss."""

    each: NDArray[np.int8]
    basis: Basis


def judge(asked: Sequence[Asked], served: Served) -> Verdicts:
    """Return the verdict on every hit, by the strongest basis that any hit has."""
    hits = np.flatnonzero(served.donors != NOBODY).tolist()
    donors = served.donors.tolist()
    groups = [(asked[i].answer_group, asked[donors[i]].answer_group) for i in hits]
    labelled = any(one.answer_group is not None for one in asked)
    if labelled:
        return Verdicts(_compared(len(asked), hits, groups), Basis.LABELS)
    answers = [(_answer(asked[i]), _answer(asked[donors[i]])) for i in hits]
    if any(one.response for one in asked):
        return Verdicts(_compared(len(asked), hits, answers), Basis.ANSWERS)
    return Verdicts(np.full(len(asked), UNKNOWN, np.int8), Basis.RULE)


def _answer(asked: Asked) -> str | None:
    return folded(asked.response).casefold() if asked.response else None


def _compared(
    count: int, hits: Sequence[int], pairs: Sequence[tuple[str | None, str | None]]
) -> NDArray[np.int8]:
    each = np.full(count, UNKNOWN, np.int8)
    for i, (own, donor) in zip(hits, pairs, strict=True):
        if own is not None and donor is not None:
            each[i] = RIGHT if own == donor else WRONG
    return each
