"""Thresholds of single entries: a cache that learns for each entry how near is near enough.

After the formulas of vCache (arXiv 2502.03771), not its code. Each entry keeps what it saw: how
near a request was, and whether its answer would have served. The chance that it serves is taken for
a logistic curve over similarity. Where it is right with probability at least ``right``, but for a
chance ``doubt``, it is used in ``delta / (1 - (1 - doubt) * right)`` of all cases: then at most
``delta`` of all requests are served wrongly, if they are independent and the curve is a logistic
one. Otherwise the model is asked, and the entry learns.

One step is another than the paper's, on purpose. It bounds the curve's midpoint by the delta method
and takes the slope as known. Where labels separate perfectly, as few of them mostly do, there is
then neither a slope nor a variance, and its implementation reads one from a table. Here the
curve's height at the request's similarity is bounded by its likelihood, over all slopes, with
Chernoff's ``exp(-drop)`` as the chance of a drop in log-likelihood: that holds with few and with
separated labels, and serves later than the table does.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from random import Random

import numpy as np

from kvaudit.core.errors import UsageError
from kvaudit.replay.semantic.gather import Asked
from kvaudit.replay.semantic.reference import empty
from kvaudit.replay.semantic.serving import Lookups, Served, settled

FEWEST = 6
"""Observations, the two that every entry begins with among them; before that it only learns."""
BEGINNING = ((0.0, False), (1.0, True))
_LOGITS = np.linspace(0, 10, 21)
"""Heights of the curve that are tried; a coarse grid of them only serves a little later."""
_SLOPES = np.concatenate(([0.0], np.geomspace(1, 1000, 24)))
"""A curve never falls, and 1,000 is a step between two similarities of three digits."""
_RIGHT = 1 / (1 + np.exp(-_LOGITS))


class Entry:
    """What one entry saw."""

    def __init__(self) -> None:
        """Begin as every entry does: nothing alike is right at 1, and wrong at 0."""
        self._seen = Counter(BEGINNING)
        self._chances: dict[float, float] = {}

    def observe(self, similarity: float, right: bool) -> None:
        """Count a request to which the answer would have been right, or wrong."""
        self._seen[round(similarity, 3), right] += 1
        self._chances.clear()

    def explore_chance(self, similarity: float, delta: float) -> float:
        """Return how often the model is asked at a similarity, so that delta holds."""
        if self._seen.total() < FEWEST:
            return 1.0
        place = round(similarity, 3)
        if place not in self._chances:
            doubt = 1 - _surely_right(self._seen, place)
            self._chances[place] = max(0.0, 1 - delta / doubt)
        return self._chances[place]


def _surely_right(seen: Counter[tuple[float, bool]], similarity: float) -> float:
    """Return a bound on the chance to be right, times the chance that the bound holds, at best."""
    away = np.array([at - similarity for at, _ in seen])
    counts = np.array(list(seen.values()), np.float64)
    wrong = counts * np.array([not right for _, right in seen])
    # One row a height at this similarity, one column a slope through it.
    margins = _LOGITS[:, None, None] + _SLOPES[None, :, None] * away
    likelihood = -np.logaddexp(0, -margins) @ counts - margins @ wrong
    profile = likelihood.max(axis=1)
    likeliest = int(profile.argmax())
    drop = profile[likeliest] - profile[: likeliest + 1]
    return float(((1 - np.exp(-drop)) * _RIGHT[: likeliest + 1]).max())


def serve(lookups: Lookups, asked: Sequence[Asked], delta: float, seed: int) -> Served:
    """Serve every request in turn; the nearest entry at or above the threshold is asked about.

    Raises `UsageError` where the log does not say whether an answer would have served.
    """
    if asked and not any(one.answer_group is not None or one.response for one in asked):
        raise UsageError(
            "per_entry learns whether answers would have served, and the log has neither "
            "answer_group nor responses"
        )
    served, random = empty(len(asked)), Random(seed)
    entries: dict[int, list[int]] = {}
    seen: dict[int, Entry] = {}
    learnt: list[tuple[float, int, int, float, bool]] = []
    for i in range(len(asked)):
        # What the model says is known, and compared, when its answer is there.
        while learnt and learnt[0][0] <= lookups.arrived_s[i]:
            _, _, told, near, was_right = heapq.heappop(learnt)
            seen[told].observe(near, was_right)
        own = entries.setdefault(int(lookups.partitions[i]), [])
        donor, similarity = _nearest(lookups, own, i)
        stored = bool(lookups.storable[i])
        if donor is not None:
            if random.random() >= seen[donor].explore_chance(similarity, delta):
                served.donors[i], served.similarities[i] = donor, similarity
                continue
            right = _would_serve(asked[donor], asked[i])
            if right is not None:
                at_s = float(lookups.available_s[i])
                heapq.heappush(learnt, (at_s, i, donor, similarity, right))
            # A second entry of the same answer would serve nothing that the first does not.
            stored = stored and not right
        if stored:
            own.append(i)
            seen[i] = Entry()
    return served


def _nearest(lookups: Lookups, entries: Sequence[int], i: int) -> tuple[int | None, float]:
    now = lookups.arrived_s[i]
    live = [entry for entry in entries if lookups.available_s[entry] <= now]
    if not live:
        return None, 0.0
    vectors = lookups.vectors
    product = vectors[lookups.texts[live]] @ vectors[lookups.texts[i : i + 1]].T
    dense = product if isinstance(product, np.ndarray) else product.toarray()
    similarities = settled(dense[:, 0].astype(np.float64))
    best = int(similarities.argmax())
    if similarities[best] < lookups.cosines[i]:
        return None, 0.0
    return live[best], float(similarities[best])


def _would_serve(donor: Asked, asked: Asked) -> bool | None:
    if donor.answer_group is not None and asked.answer_group is not None:
        return donor.answer_group == asked.answer_group
    if donor.response and asked.response:
        return donor.response == asked.response
    return None
