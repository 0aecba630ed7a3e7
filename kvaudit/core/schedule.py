"""What an engine did over time: waiting, preemption, blocks in flight, its own counters.

A part of `kvaudit.core.results.ReplayReport`; the names are those of ``--format json``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kvaudit.core.savings import Percentiles


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCounters:
    """What this release's own ``prefix_cache`` counters would show, in tokens.

    Over the whole log, a warm-up included, as the engine counts.
    """

    queries: int
    hits: int
    hit_rate: float | None
    preempted_queries: int
    """Of requests that had been preempted, where the release counts them apart."""
    preempted_hits: int
    true_queries: int
    """Prompt tokens of the requests that were admitted."""
    true_hits: int
    true_hit_rate: float | None
    definition: str
    """How the release counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSummary:
    """What happened between a request's arrival and its end, over the whole log."""

    name: str
    """``steps`` or ``timed``."""
    steps: int
    duration_s: float | None
    """From the first arrival to the last end; None where steps have no length."""
    step_time: str | None
    """What the length of a step rests on; None where it has none."""
    preemptions: int
    resumed_cached_tokens: int
    peak_running: int
    """The most requests at once."""
    peak_in_flight_blocks: int
    """The most blocks that requests in flight held at any moment."""
    mean_in_flight_blocks: float
    """The mean of those over time, while any request ran."""
    in_flight: Sequence[tuple[float, int]]
    """Blocks that requests in flight held when one arrived: second or step, and blocks."""
    waited_s: Percentiles | None
    """From arrival to admission."""
    ttft_s: Percentiles | None
    """From arrival to the first token, waiting included; modelled."""
    counters: EngineCounters | None
    """None for an engine whose counters are not followed."""
