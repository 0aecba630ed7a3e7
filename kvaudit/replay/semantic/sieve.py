"""Rules out most pairs of vectors by a part of each: a bound, so that no near pair is lost.

Rotated so that the first dimensions hold most of the vectors' length, the product of two is that
of their heads plus that of their tails, and the latter is at most the product of the tails'
lengths (Cauchy and Schwarz). With the length of the tail as one more dimension of the head the
bound is a single matrix product of a fifth of the size. Which rotation it is decides how much is
ruled out, and nothing else; it is fitted on a sample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SAMPLE = 2000
PROBES = 256
HEADS = (64, 96, 128, 192)
FEW = 0.002
"""Share of pairs that a head may let through: to compute these costs less than it saves."""


class Sieve:
    """Heads of rotated vectors, with the lengths of their tails."""

    def __init__(self, heads: NDArray[np.float32]) -> None:
        """Take what `of` computes."""
        self._heads = heads

    @classmethod
    def of(cls, vectors: NDArray[np.float32], floor: float) -> Sieve | None:
        """Return the smallest sieve that rules out nearly all pairs below the floor, or None."""
        count, dimensions = vectors.shape
        if count < SAMPLE or dimensions < 2 * HEADS[0]:
            return None
        sample = vectors[:: count // SAMPLE][:SAMPLE]
        _, axes = np.linalg.eigh(sample.T.astype(np.float64) @ sample)
        rotation = np.ascontiguousarray(axes[:, ::-1], np.float32)
        rotated = sample @ rotation
        for head in HEADS:
            if head > dimensions // 2:
                return None
            heads = _with_tails(rotated, head)
            bounds = heads[:: SAMPLE // PROBES] @ heads.T
            if np.count_nonzero(bounds >= floor) <= FEW * bounds.size:
                return cls(_with_tails_of_all(vectors, rotation, head))
        return None

    def bounds(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return what each product is at most, but for rounding."""
        bounds: NDArray[np.float32] = self._heads[rows] @ self._heads[columns].T
        return bounds


def _with_tails(rotated: NDArray[np.float32], head: int) -> NDArray[np.float32]:
    tails = np.sqrt(np.einsum("ij,ij->i", rotated[:, head:], rotated[:, head:]))
    return np.column_stack((rotated[:, :head], tails))


def _with_tails_of_all(
    vectors: NDArray[np.float32], rotation: NDArray[np.float32], head: int
) -> NDArray[np.float32]:
    """Return the heads of all vectors, some thousands at a time: whole, they are as large again."""
    heads = np.empty((len(vectors), head + 1), np.float32)
    for start in range(0, len(vectors), 4 * SAMPLE):
        part = slice(start, start + 4 * SAMPLE)
        heads[part] = _with_tails(vectors[part] @ rotation, head)
    return heads
