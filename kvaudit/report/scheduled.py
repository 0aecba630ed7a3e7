"""The part of the screen about an engine's schedule: waiting, memory in flight, its counters."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from kvaudit.core.results import ReplayReport
from kvaudit.core.savings import Percentiles
from kvaudit.core.schedule import EngineCounters, ScheduleSummary
from kvaudit.report.figures import compact, percent, plural
from kvaudit.report.linted import hanging
from kvaudit.report.timeline import drawn_over_time

_COLUMNS = 32


def schedule_lines(report: ReplayReport, width: int) -> Iterator[Text]:
    """Yield what requests in flight take from the cache, how long they wait, and the counters."""
    summary = report.schedule
    if summary is None:
        return
    for label, text in _rows(report, summary):
        yield from hanging(f"  {label:11}", text, width)


def _rows(report: ReplayReport, summary: ScheduleSummary) -> Iterator[tuple[str, str]]:
    capacity = report.engine.capacity_blocks if report.engine is not None else None
    yield "in flight", _in_flight(summary, capacity)
    yield from _over_time(report, summary, capacity)
    if summary.waited_s is not None:
        yield "waiting", f"{_times(summary.waited_s)} from arrival to admission (modelled)"
    if summary.ttft_s is not None:
        yield "1st token", f"{_times(summary.ttft_s)} from arrival, waiting included (modelled)"
    if summary.step_time is not None:
        yield "steps", f"{summary.steps:,}, each by a roofline of {summary.step_time}"
    if summary.counters is not None and _differ(summary.counters):
        yield "counters", _counters(summary.counters)


def _in_flight(summary: ScheduleSummary, capacity: int | None) -> str:
    mean, peak = summary.mean_in_flight_blocks, summary.peak_in_flight_blocks
    if capacity is None:
        held = f"requests hold {mean:,.0f} blocks on average, {peak:,} at most"
    else:
        held = (
            f"requests hold {percent(mean / capacity)} of the blocks on average, "
            f"{percent(peak / capacity)} at most; the cache has the rest"
        )
    preempted = f"; {plural(summary.preemptions, 'preemption')}" if summary.preemptions else ""
    return f"{held}; {plural(summary.peak_running, 'request')} at once{preempted}"


def _over_time(
    report: ReplayReport, summary: ScheduleSummary, capacity: int | None
) -> Iterator[tuple[str, str]]:
    """Yield what requests hold, and what holds KV at all, as parts of a bounded cache."""
    held = [] if report.prefix is None else report.prefix.occupancy or []
    times = [at for at, _ in (*summary.in_flight, *held)]
    if capacity is None or not held or min(times) == max(times):
        return
    rows = {
        "held by requests, as one arrives": summary.in_flight,
        "holds KV, theirs or cached": held,
    }
    label = "over time"
    for what, points in rows.items():
        line = drawn_over_time(
            points, start=min(times), end=max(times), full=capacity, columns=_COLUMNS
        )
        yield label, f"{line} {what}"
        label = ""


def _differ(counters: EngineCounters) -> bool:
    return (counters.queries, counters.hits) != (counters.true_queries, counters.true_hits)


def _counters(counters: EngineCounters) -> str:
    return (
        f"prefix_cache_hits / queries would show {compact(counters.hits)} / "
        f"{compact(counters.queries)} ({percent(counters.hit_rate)}), of "
        f"{compact(counters.true_hits)} / {compact(counters.true_queries)} "
        f"({percent(counters.true_hit_rate)}): {counters.definition}"
    )


def _times(times: Percentiles) -> str:
    return f"P50 {_duration(times.p50)}, P99 {_duration(times.p99)}"


def _duration(seconds: float) -> str:
    return f"{seconds:,.1f} s" if seconds >= 1 else f"{seconds * 1000:,.0f} ms"


def schedule_facts(report: ReplayReport) -> Iterator[tuple[str, object]]:
    """Yield (name, value) of the figures, for one fact a line."""
    summary = report.schedule
    if summary is None:
        return
    yield "steps", summary.steps
    yield "preemptions", summary.preemptions
    yield "requests at once, at most", summary.peak_running
    yield "blocks in flight, mean", f"{summary.mean_in_flight_blocks:.1f}"
    yield "blocks in flight, at most", summary.peak_in_flight_blocks
    for name, times in (("waited", summary.waited_s), ("first token", summary.ttft_s)):
        if times is not None:
            yield f"{name}, seconds", f"P50 {times.p50:.4g}, P99 {times.p99:.4g}, modelled"
    if summary.step_time is not None:
        yield "step time", f"roofline of {summary.step_time}"
    if summary.counters is not None and _differ(summary.counters):
        yield "engine counters", _counters(summary.counters)
