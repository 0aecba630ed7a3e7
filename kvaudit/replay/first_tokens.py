"""Each request's time to first token while a replay runs: its prefill, and what it must load.

Hits in a tier below the engine's own cache are copied up before the prefill can use them; the
copies of a request's tiers are taken to follow one another. Waiting for other requests is not in
it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.cost.roofline import Roofline
from kvaudit.replay.outcomes import CacheOutcome


class FirstTokens:
    """Times the requests of a replay, batch after batch."""

    def __init__(self, roofline: Roofline, tier_bytes_per_s: Sequence[float]) -> None:
        """Take what the model runs on, and how fast each lower tier is read, fastest first."""
        self._roofline = roofline
        self._tier_bytes_per_s = tier_bytes_per_s
        self._loads: list[NDArray[np.float64]] = []

    def add(self, batch: PromptBatch, outcome: CacheOutcome) -> NDArray[np.float64]:
        """Return the batch's seconds to first token, and remember what of them is loading."""
        hits = outcome.cached_tokens
        loads = np.zeros(len(hits))
        if outcome.tier_tokens is not None:
            lower = zip(outcome.tier_tokens[1:], self._tier_bytes_per_s, strict=False)
            for tokens, rate in lower:
                loads += self._roofline.load_s(tokens, rate)
        self._loads.append(loads)
        return self._roofline.prefill_s(batch.prompt_tokens - hits, hits) + loads

    def load_s(self) -> NDArray[np.float64]:
        """Return the seconds that each request so far spent loading KV."""
        return np.concatenate([np.empty(0), *self._loads])
