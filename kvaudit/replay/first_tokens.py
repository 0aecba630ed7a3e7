"""Each request's time to first token while a replay runs: its prefill, and what it must load.

Hits in a tier below the engine's own cache are copied up before the prefill can use them; the
copies of a request's tiers are taken to follow one another. Waiting for other requests is in it
only where the schedule has seconds; without the cache the same schedule then runs once more, over
requests of which no two share anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.prompts import PromptBatch
from kvaudit.cost.roofline import Roofline
from kvaudit.cost.savings import ScheduledTimes
from kvaudit.replay.blocks import Interner
from kvaudit.replay.outcomes import CacheModel, CacheOutcome


class ColdSchedule:
    """A schedule in seconds, run without any reuse between requests."""

    def __init__(self, cache: CacheModel, interner: Interner) -> None:
        """Take a fresh cache and interner, set up as those of the replay."""
        self._cache, self._interner = cache, interner

    def first_tokens(self, batch: PromptBatch) -> NDArray[np.float64]:
        """Return the seconds to first token of the log's requests, given as one batch."""
        apart = np.arange(len(batch.prompt_tokens), dtype=np.int32)
        alone = replace(batch, namespaces=apart)
        return _waited(self._cache.replay(alone, self._interner.intern(alone)))


def _waited(outcome: CacheOutcome) -> NDArray[np.float64]:
    assert outcome.activity is not None
    return outcome.activity.first_token - outcome.activity.arrived


class FirstTokens:
    """Times the requests of a replay, batch after batch."""

    def __init__(
        self,
        roofline: Roofline,
        tier_bytes_per_s: Sequence[float],
        cold: ColdSchedule | None = None,
    ) -> None:
        """Take what the model runs on, and how fast each lower tier is read, fastest first.

        ``cold`` is given where the schedule has seconds.
        """
        self._cold = cold
        self.scheduled: ScheduledTimes | None = None
        """Times in a schedule that has seconds, once the log was served."""
        self._roofline = roofline
        self._tier_bytes_per_s = tier_bytes_per_s
        self._loads: list[NDArray[np.float64]] = []

    def add(self, batch: PromptBatch, outcome: CacheOutcome) -> NDArray[np.float64]:
        """Return the batch's seconds to first token, and remember what of them is loading."""
        if self._cold is not None:
            self.scheduled = ScheduledTimes(self._cold.first_tokens(batch), _waited(outcome))
            return self.scheduled.on
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
