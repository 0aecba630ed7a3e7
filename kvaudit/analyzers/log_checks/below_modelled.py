"""A reported hit rate far below what the model says the cache could have had."""

from __future__ import annotations

import numpy as np

from kvaudit.analyzers.log_checks.above_possible import reported_rate
from kvaudit.analyzers.log_checks.facts import UNKNOWN, Ints, LogFacts, Modelled
from kvaudit.core.why import LogCheck

_FAR = 0.25
_LEAST_MODELLED = 0.25
"""Less may be what a provider does not count: short prefixes, incomplete steps."""
_STEP, _MINIMUM = 128, 1024
"""What OpenAI's caches count in, and what they begin at; other providers likewise."""
_LIFETIME_S = 300.0
"""The shortest documented lifetime of a provider's entry."""
_LEAST_ROWS = 20


def check(log: LogFacts, modelled: Modelled | None) -> LogCheck | None:
    """Hold the log's own rate against the modelled one: less than half, or 25 points less."""
    rate = reported_rate(log)
    if modelled is None or rate is None or modelled.hit_rate is None:
        return None
    expected = modelled.hit_rate
    if _counts_in_steps(log):
        expected *= _in_steps(modelled.hits)
    far = expected - rate > _FAR or (expected >= _LEAST_MODELLED and rate < expected / 2)
    if not far:
        return None
    return LogCheck(
        check="reported-below-modelled",
        count=int((log.cached_tokens != UNKNOWN).sum()),
        message=(
            f"the log reports {rate:.1%} of the prompt tokens as hits, and the modelled cache has "
            f"{modelled.hit_rate:.1%}; likely: {'; or '.join(_reasons(log, modelled))}"
        ),
    )


def _counts_in_steps(log: LogFacts) -> bool:
    """Whether the log's counts are a provider's: whole steps, none of them below the minimum."""
    cached = log.cached_tokens[log.cached_tokens > 0]
    return bool(len(cached) and (cached % _STEP == 0).all() and cached.min() >= _MINIMUM)


def _in_steps(hits: Ints) -> float:
    """Return the share of the modelled hits that such counts would show."""
    stepped = np.where(hits >= _MINIMUM, hits // _STEP * _STEP, 0)
    return int(stepped.sum()) / max(int(hits.sum()), 1)


def _reasons(log: LogFacts, modelled: Modelled) -> list[str]:
    """Return what the rows show, and what they cannot rule out."""
    cached = log.cached_tokens[log.cached_tokens > 0]
    if not len(cached):
        reasons = [
            "prefix caching is off, or the engine does nothing with it: hybrid models on vLLM "
            "(vllm-project/vllm#51198), speculative decoding on SGLang (sgl-project/sglang#20451)",
            "the counter is not filled in by the server or the gateway",
        ]
        if modelled.hits.max(initial=0) < _MINIMUM:
            reason = (
                f"no request shares the {_MINIMUM:,} tokens from which providers cache anything"
            )
            reasons.insert(0, reason)
        return reasons
    found = []
    if _counts_in_steps(log):
        found.append("it is a provider's, which counts in steps of 128 tokens from 1,024 on")
    if _stops_at_old_prompt(log):
        found.append(
            "generated tokens are not reused, so that turns hit only the earlier prompt, as in "
            "SGLang 0.5.6 to 0.5.8 (sgl-project/sglang#16521)"
        )
    if _lost_with_time(log):
        found.append("entries expire: turns that follow after five minutes hit much less")
    if not modelled.bounded:
        found.append("the real cache must evict, and the modelled one is unbounded: --capacity")
    return [*found, "several replicas serve the log, and the model is of one: --instances"]


def _followers(log: LogFacts) -> tuple[np.ndarray, np.ndarray]:
    """Return the requests that follow another of their session, and these, by arrival."""
    known = np.flatnonzero((log.session != 0) & (log.cached_tokens != UNKNOWN))
    order = known[np.lexsort((known, log.arrived_s[known], log.session[known]))]
    same = log.session[order[1:]] == log.session[order[:-1]]
    return order[1:][same], order[:-1][same]


def _stops_at_old_prompt(log: LogFacts) -> bool:
    """Whether nearly all turns hit the earlier prompt, short of a block, and nothing behind it."""
    later, earlier = _followers(log)
    grown = (log.output_tokens[earlier] >= 64) & (
        log.prompt_tokens[later] >= log.prompt_tokens[earlier] + log.output_tokens[earlier]
    )
    later, earlier = later[grown], earlier[grown]
    if len(later) < _LEAST_ROWS:
        return False
    behind = log.cached_tokens[later] - log.prompt_tokens[earlier]
    return bool(((behind <= 0) & (behind > -64)).mean() > 0.8)


def _lost_with_time(log: LogFacts) -> bool:
    """Whether turns after a long pause hit much less than turns after a short one."""
    later, earlier = _followers(log)
    gap = log.arrived_s[later] - log.arrived_s[earlier]
    share = log.cached_tokens[later] / np.maximum(log.prompt_tokens[later], 1)
    short, long = share[gap < _LIFETIME_S], share[gap > _LIFETIME_S]
    if min(len(short), len(long)) < _LEAST_ROWS:
        return False
    return bool(np.median(short) > 2 * np.median(long) + 0.1)
