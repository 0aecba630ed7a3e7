"""Counts of hashed character n-grams: always there, and no more than a near-duplicate detector.

Nothing is fitted, so that no later request shapes an earlier similarity, and a text has the same
vector in every run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kvaudit.core.extras import load
from kvaudit.replay.semantic.encoder import Encoder

NGRAMS = (2, 4)
FEATURES = 1 << 18


class Hashing:
    """scikit-learn's hashing vectorizer over n-grams inside words, unit length."""

    cached = False
    remark: str | None = (
        "hashing compares spelling, not meaning: what it finds are near-duplicates, and texts "
        "that differ in one date or name look alike to it"
    )

    def __init__(self) -> None:
        """Set it up; raises `MissingExtra`."""
        text = load("sklearn.feature_extraction.text", extra="semantic")
        self.title = "hashed character n-grams"
        self.identity = f"hashing char_wb {NGRAMS} {FEATURES} l2"
        self._vectorizer = text.HashingVectorizer(
            analyzer="char_wb",
            ngram_range=NGRAMS,
            n_features=FEATURES,
            alternate_sign=False,
            norm="l2",
            dtype="float32",
        )

    def encode(self, texts: Sequence[str]) -> Any:
        """Return a CSR matrix."""
        return self._vectorizer.transform(texts)

    def unknown_share(self, texts: Sequence[str]) -> float | None:
        """Return None: every character has its n-grams."""
        return None


def make() -> Encoder:
    """Return the encoder."""
    return Hashing()
