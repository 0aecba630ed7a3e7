"""Whether a served answer was right: by labels, else by the logged answers, else not known.

A would-be hit can be checked against the log, for there every request has an answer of its own.
How far logged answers can be trusted is measured on the log itself; see `answers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.semantic import AnswerProxy
from kvaudit.replay.semantic.answers import Encode, judge_answers
from kvaudit.replay.semantic.gather import Asked
from kvaudit.replay.semantic.serving import NOBODY, Served
from kvaudit.replay.semantic.verdict import RIGHT, UNKNOWN, WRONG

__all__ = ["DEFINITIONS", "RIGHT", "UNKNOWN", "WRONG", "Basis", "Verdicts", "judge"]


class Basis(StrEnum):
    """Where verdicts come from, the strongest first."""

    LABELS = "labels"
    ANSWERS = "logged answers"
    RULE = "rule"


DEFINITIONS = {
    Basis.LABELS: "a hit is wrong where its answer_group is not the donor's; hits of requests "
    "without one have no verdict",
    Basis.ANSWERS: "a hit is wrong where its logged answer is not the donor's: not equal but for "
    "case and white space, and either with other numbers, dates or identifiers, or less alike than "
    "19 of 20 pairs of answers to one and the same question in this log; a proxy, which has no "
    "bound; label the hits to get one",
    Basis.RULE: "no false-hit rate: the log has neither answer_group nor responses; add "
    "answer_group (requests with the same value may share an answer), or log the responses. "
    "Suspected are hits whose texts differ in a number, a date, a negation and the like",
}


class Verdicts(NamedTuple):
    """One verdict a request; `UNKNOWN` for a miss."""

    each: NDArray[np.int8]
    basis: Basis
    proxy: AnswerProxy | None = None
    """How far logged answers can be trusted, where these are the basis."""


def judge(asked: Sequence[Asked], served: Served, encode: Encode) -> Verdicts:
    """Return the verdict on every hit, by the strongest basis that the log has."""
    if any(one.answer_group is not None for one in asked):
        return Verdicts(_by_labels(asked, served), Basis.LABELS)
    if any(one.response for one in asked):
        each, proxy = judge_answers(asked, served, encode)
        return Verdicts(each, Basis.ANSWERS, proxy)
    return Verdicts(np.full(len(asked), UNKNOWN, np.int8), Basis.RULE)


def _by_labels(asked: Sequence[Asked], served: Served) -> NDArray[np.int8]:
    each = np.full(len(asked), UNKNOWN, np.int8)
    donors = served.donors.tolist()
    for i in np.flatnonzero(served.donors != NOBODY).tolist():
        own, other = asked[i].answer_group, asked[donors[i]].answer_group
        if own is not None and other is not None:
            each[i] = RIGHT if own == other else WRONG
    return each
