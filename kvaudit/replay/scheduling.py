"""From what an engine noted over time to the part of the report about its schedule."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvaudit.core.savings import Percentiles
from kvaudit.core.schedule import EngineCounters, ScheduleSummary
from kvaudit.replay.engine import CacheSettings
from kvaudit.replay.lengths import quantile
from kvaudit.replay.models.vllm_releases import NEWEST, rules_of
from kvaudit.replay.outcomes import CacheOutcome, EngineActivity
from kvaudit.replay.tally import thinned


def schedule_summary(
    settings: CacheSettings,
    outcome: CacheOutcome,
    prompt_tokens: NDArray[np.int64],
    *,
    step_time: str | None,
) -> ScheduleSummary | None:
    """Return what happened over time; None where requests take no time."""
    activity = outcome.activity
    if activity is None or settings.schedule == "sequential":
        return None
    timed = settings.schedule == "timed"
    resumed = outcome.resumed_cached_tokens
    ended = activity.ended[~np.isnan(activity.ended)]
    return ScheduleSummary(
        name=settings.schedule,
        steps=activity.steps,
        duration_s=float(ended.max()) if timed and len(ended) else None,
        step_time=step_time,
        preemptions=activity.preemptions,
        resumed_cached_tokens=0 if resumed is None else int(resumed.sum()),
        peak_running=activity.peak_running,
        peak_in_flight_blocks=activity.peak_used_blocks,
        mean_in_flight_blocks=activity.mean_used_blocks,
        in_flight=thinned(activity.arrived, activity.met_blocks),
        waited_s=_percentiles(activity.started - activity.arrived) if timed else None,
        ttft_s=_percentiles(activity.first_token - activity.arrived) if timed else None,
        counters=_counters(settings, activity, outcome, prompt_tokens),
    )


def length_remarks(settings: CacheSettings, output_tokens: NDArray[np.int64]) -> tuple[str, ...]:
    """Say of which requests a scheduler cannot know when they end, for want of an output."""
    unknown, count = int((output_tokens == 0).sum()), len(output_tokens)
    if settings.schedule == "sequential" or not unknown:
        return ()
    whose = "no request has" if unknown == count else f"{unknown:,} of {count:,} requests have no"
    return (
        f"{whose} known output, and such a request ends at its first token: it holds its blocks "
        "for less time than in life, so this bounds hits and waiting from the good side",
    )


def _percentiles(seconds: NDArray[np.float64]) -> Percentiles | None:
    known = np.sort(seconds[~np.isnan(seconds)])
    if not len(known):
        return None
    return Percentiles(p50=quantile(known, 0.5), p99=quantile(known, 0.99))


def _counters(
    settings: CacheSettings,
    activity: EngineActivity,
    outcome: CacheOutcome,
    prompt_tokens: NDArray[np.int64],
) -> EngineCounters | None:
    if not activity.follows_counters:
        return None
    rules = rules_of(settings.version or NEWEST)
    queries, hits = activity.counted_queries, activity.counted_hits
    true_queries = int(prompt_tokens[outcome.admitted].sum())
    true_hits = int(outcome.cached_tokens.sum())
    when = (
        "at every look of a waiting request, also one that is not admitted"
        if rules.counts_retries
        else "once a request is admitted"
    )
    resumed = "apart from" if rules.counts_resumed_apart else "together with"
    return EngineCounters(
        queries=queries,
        hits=hits,
        hit_rate=hits / queries if queries else None,
        preempted_queries=activity.counted_preempted_queries,
        preempted_hits=activity.counted_preempted_hits,
        true_queries=true_queries,
        true_hits=true_hits,
        true_hit_rate=true_hits / true_queries if true_queries else None,
        definition=f"this release counts {when}, and resumed requests {resumed} new ones",
    )
