"""A reported hit rate that this traffic cannot give."""

from __future__ import annotations

import numpy as np

from kvaudit.analyzers.log_checks.facts import UNKNOWN, LogFacts, Modelled
from kvaudit.core.why import LogCheck

_MARGIN = 0.02
"""Counters are rounded, and another vocabulary cuts a text elsewhere."""
MOST_REPORT = 0.9
"""Share of the requests that must report for their rate to be that of the log."""


def reported_rate(log: LogFacts) -> float | None:
    """Return the log's own hit rate; None where too few requests report."""
    known = (log.cached_tokens != UNKNOWN) & (log.prompt_tokens > 0)
    total = int(log.prompt_tokens[known].sum())
    if not total or known.sum() < MOST_REPORT * len(log):
        return None
    return int(np.minimum(log.cached_tokens[known], log.prompt_tokens[known]).sum()) / total


def check(log: LogFacts, modelled: Modelled | None) -> LogCheck | None:
    """Hold the log's own rate against the one of a cache that forgets nothing."""
    rate = reported_rate(log)
    if modelled is None or rate is None or modelled.possible_rate is None:
        return None
    if rate <= modelled.possible_rate + _MARGIN:
        return None
    return LogCheck(
        check="reported-above-possible",
        count=int((log.cached_tokens > 0).sum()),
        message=(
            f"the log reports {rate:.1%} of the prompt tokens as hits, and the texts in it can "
            f"give {modelled.possible_rate:.1%} at most; {_reason(log)}"
        ),
    )


def _reason(log: LogFacts) -> str:
    """Return the likeliest reasons, by what the log shows."""
    reasons = []
    first = np.flatnonzero(log.cached_tokens != UNKNOWN)[:10]
    if len(first) and (log.cached_tokens[first] > 0).mean() > 0.5:  # a cold cache hits nothing
        reasons.append("the cache was warm when the log begins, or requests are missing from it")
    reasons += [
        "tools, system text or images are sent and not logged",
        "the engine counts retries or resumed requests as hits (vllm-project/vllm#43736, #25780)",
    ]
    return f"likely: {'; or '.join(reasons)}"
