"""What a threshold means: every scale that caches use, as a cosine similarity.

On unit vectors the squared Euclidean distance is 2 - 2 cos, and all conversions follow from
that. A distance must be small to hit and a similarity large; as a cosine both are "at least".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from kvaudit.core.errors import UsageError


class Scale(NamedTuple):
    """One scale: the values it has on unit vectors, and the cosine of a value."""

    lowest: float
    highest: float
    to_cosine: Callable[[float], float]
    of_cosine: Callable[[float], float]
    meaning: str


SCALES: Mapping[str, Scale] = {
    "cosine_sim": Scale(-1, 1, lambda s: s, lambda c: c, "cosine similarity"),
    "cosine_dist": Scale(0, 2, lambda d: 1 - d, lambda c: 1 - c, "1 - cosine"),
    "ip_dist": Scale(0, 2, lambda d: 1 - d, lambda c: 1 - c, "1 - inner product of unit vectors"),
    "l2": Scale(
        0,
        2,
        lambda d: 1 - d * d / 2,
        lambda c: (2 - 2 * c) ** 0.5,
        "Euclidean distance of unit vectors",
    ),
    "l2_sq": Scale(
        0, 4, lambda d: 1 - d / 2, lambda c: 2 - 2 * c, "squared Euclidean distance of unit vectors"
    ),
    "inv_l2_sq": Scale(
        0.2,
        1,
        lambda s: 1 - (1 / s - 1) / 2,
        lambda c: 1 / (3 - 2 * c),
        "1 / (1 + squared distance)",
    ),
    "half_dist": Scale(0, 1, lambda s: 2 * s - 1, lambda c: (1 + c) / 2, "1 - cosine distance / 2"),
    "gptcache_rank": Scale(
        0, 1, lambda t: 2 * t - 1, lambda c: (1 + c) / 2, "share of GPTCache's distance range of 4"
    ),
    "gptcache_norm": Scale(
        0,
        1,
        lambda t: 1 - 2 * (1 - t) ** 2,
        lambda c: 1 - ((1 - c) / 2) ** 0.5,
        "share of GPTCache's norm range of 2",
    ),
}
"""Every scale that a policy may declare, by its name."""


def cosine_of(threshold: float, scale: str) -> float:
    """Return the cosine similarity from which on a neighbour is near enough.

    Raises `UsageError` for a value that the scale does not have.
    """
    found = SCALES[scale]
    if not found.lowest <= threshold <= found.highest:
        raise UsageError(
            f"a threshold of {threshold:g} is impossible on the scale {scale} ({found.meaning}), "
            f"which goes from {found.lowest:g} to {found.highest:g}; correct it, or declare "
            "another scale"
        )
    return round(found.to_cosine(threshold), 9)


def in_scale(cosine: float, scale: str) -> float:
    """Return a cosine similarity as a threshold on that scale."""
    return round(SCALES[scale].of_cosine(cosine), 9)
