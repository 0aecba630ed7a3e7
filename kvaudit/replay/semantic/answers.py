"""Logged answers as a proxy for labels: whether two answers say the same, and how far to trust it.

Two answers are the same when they are equal but for case and white space. They differ when one
has numbers, dates, identifiers or units that the other lacks. Else their likeness decides, at the
rho that 19 of 20 pairs of answers to exact repeats reach: the same text under the same parameters,
asked twice, whose answers differ by chance only. On those repeats the proxy's false alarms are
counted, and on pairs of requests drawn at random how often it sees that answers differ; a rate
below its alarms cannot be told from none, so no verdict below them is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.semantic import AnswerProxy
from kvaudit.replay.semantic.encoder import Vectors
from kvaudit.replay.semantic.gather import PARAMETERS, Asked
from kvaudit.replay.semantic.guards.entities import differences
from kvaudit.replay.semantic.serving import NOBODY, Served, similarities_of
from kvaudit.replay.semantic.texts import folded
from kvaudit.replay.semantic.verdict import RIGHT, UNKNOWN, WRONG

Encode = Callable[[Sequence[str]], Vectors]
Pair = tuple[int, int]
"""Numbers of two requests that have answers."""

HARD = frozenset({"number", "date", "identifier", "unit"})
"""Kinds of difference that no wording explains."""
QUANTILE = 0.05
FEWEST_REPEATS = 20
"""Fewer say nothing about one in twenty."""
MOST_PAIRS = 1_000
"""Exact repeats, and random pairs, that are compared."""
MOST_JUDGED = 3_000
"""Hits whose answers are compared; of more, so many drawn at random have a verdict."""
SEED = 0


def judge_answers(
    asked: Sequence[Asked], served: Served, encode: Encode
) -> tuple[NDArray[np.int8], AnswerProxy]:
    """Return the verdict on every hit, or on some drawn at random, and what it is worth."""
    answers = [_plain(one.response) for one in asked]
    hits = _hits(served, answers)
    judged = _drawn(hits, MOST_JUDGED)
    repeats = _drawn(_repeats(asked, answers), MOST_PAIRS)
    random = _random(asked, answers)
    comparison = Comparison(asked, answers, encode)
    rho = None
    if len(repeats) >= FEWEST_REPEATS:
        rho = comparison.quantile(repeats)
    wrong = comparison.differ(judged, rho)
    each = np.full(len(asked), UNKNOWN, np.int8)
    for (_, request), is_wrong in zip(judged, wrong, strict=True):
        each[request] = WRONG if is_wrong else RIGHT
    alarms = comparison.differ(repeats, rho)
    seen = comparison.differ(random, rho)
    return each, AnswerProxy(
        rho=rho,
        repeats=len(repeats),
        alarm_rate=sum(alarms) / len(alarms) if rho is not None else None,
        random_pairs=len(random),
        sensitivity=sum(seen) / len(seen) if seen else None,
        judged=len(judged),
        hits=len(hits),
    )


class Comparison:
    """Compares answers; each different text is encoded once, when it is first asked for."""

    def __init__(
        self, asked: Sequence[Asked], answers: Sequence[str | None], encode: Encode
    ) -> None:
        """Take the answers of all requests."""
        self._asked, self._answers, self._encode = asked, answers, encode

    def quantile(self, repeats: Sequence[Pair]) -> float:
        """Return rho."""
        ranked = np.sort(self._alike(repeats))
        return float(ranked[int(QUANTILE * len(ranked))])

    def differ(self, pairs: Sequence[Pair], rho: float | None) -> list[bool]:
        """Return whether the answers of each pair say different things."""
        found = [self._answers[a] != self._answers[b] for a, b in pairs]
        if rho is None:
            return found
        open_ = [n for n, differs in enumerate(found) if differs and not self._hard(*pairs[n])]
        alike = self._alike([pairs[n] for n in open_])
        for n, similarity in zip(open_, alike.tolist(), strict=True):
            found[n] = similarity < rho
        return found

    def _hard(self, a: int, b: int) -> bool:
        first, second = self._asked[a].response or "", self._asked[b].response or ""
        return not HARD.isdisjoint(differences(first, second))

    def _alike(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        numbers: dict[str, int] = {}
        rows = [
            [numbers.setdefault(self._answers[i] or "", len(numbers)) for i in pair]
            for pair in pairs
        ]
        if not rows:
            return np.empty(0)
        places = np.array(rows, np.int64)
        return similarities_of(self._encode(list(numbers)), places[:, 0], places[:, 1])


def _plain(answer: str | None) -> str | None:
    return folded(answer).casefold() if answer else None


def _hits(served: Served, answers: Sequence[str | None]) -> list[Pair]:
    donors = served.donors.tolist()
    hits = np.flatnonzero(served.donors != NOBODY).tolist()
    return [
        (donors[i], i) for i in hits if answers[i] is not None and answers[donors[i]] is not None
    ]


def _repeats(asked: Sequence[Asked], answers: Sequence[str | None]) -> list[Pair]:
    """Return each exact repeat with the one before it; greedy decoding repeats itself anyway."""
    temperature = PARAMETERS.index("temperature")
    latest: dict[tuple[object, ...], int] = {}
    pairs = []
    for i, one in enumerate(asked):
        if answers[i] is None or one.parameters[temperature] in (b"0", b"0.0"):
            continue
        same = (folded(one.text), one.key, one.tenant, one.parameters)
        if same in latest:
            pairs.append((latest[same], i))
        latest[same] = i
    return pairs


def _random(asked: Sequence[Asked], answers: Sequence[str | None]) -> list[Pair]:
    """Return pairs of requests with different texts."""
    rng = np.random.default_rng(SEED)
    there = [i for i, answer in enumerate(answers) if answer is not None]
    drawn = rng.integers(0, len(there), (MOST_PAIRS, 2)).tolist() if there else []
    pairs = [(there[a], there[b]) for a, b in drawn]
    return [(a, b) for a, b in pairs if asked[a].text != asked[b].text]


def _drawn(pairs: list[Pair], most: int) -> list[Pair]:
    if len(pairs) <= most:
        return pairs
    rng = np.random.default_rng(SEED)
    places = np.sort(rng.choice(len(pairs), most, replace=False))
    return [pairs[place] for place in places.tolist()]
