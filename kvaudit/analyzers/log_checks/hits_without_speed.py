"""Prefixes that are reported as hits and took as long as if they had been computed again."""

from __future__ import annotations

import numpy as np

from kvaudit.analyzers.log_checks.facts import LogFacts, Modelled
from kvaudit.core.why import LogCheck

_LEAST_ROWS = 20
_LEAST_TOKENS = 1024
"""Shorter prompts are computed in less time than a request takes to be scheduled."""
_HIT, _MISSED = 0.8, 0.1
"""Share of the prompt that is cached, at least and at most."""
_AS_SLOW = 0.9
_STEP = 2.0
"""Prompts are compared with those of a like length: within this factor."""


def check(log: LogFacts, modelled: Modelled | None) -> LogCheck | None:
    """Compare times to the first token of like prompts, most of which was a hit or nothing was."""
    known = (log.prompt_tokens >= _LEAST_TOKENS) & (log.cached_tokens >= 0) & (log.ttft_s > 0)
    share = log.cached_tokens / np.maximum(log.prompt_tokens, 1)
    size = np.floor(np.log(np.maximum(log.prompt_tokens, 1)) / np.log(_STEP))
    slow = total = 0
    for length in np.unique(size[known]).tolist():
        alike = known & (size == length)
        hits, misses = alike & (share >= _HIT), alike & (share <= _MISSED)
        if min(hits.sum(), misses.sum()) < _LEAST_ROWS:
            continue
        per_token = log.ttft_s / np.maximum(log.prompt_tokens, 1)
        total += int(hits.sum())
        if np.median(per_token[hits]) >= _AS_SLOW * np.median(per_token[misses]):
            slow += int(hits.sum())
    if not slow or 2 * slow < total:
        return None
    return LogCheck(
        check="hits-without-speed",
        count=slow,
        message=(
            "nearly all of the prompt is reported as a hit, and the first token took as long as "
            "where nothing was: the prefix was computed again, as after a preemption "
            "(vllm-project/vllm#25780), or waiting hides it"
        ),
    )
