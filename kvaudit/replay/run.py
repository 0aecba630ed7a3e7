"""One pass of a log through the caches, in the order of arrival."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import chain

from kvaudit.core.errors import UsageError
from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.arrival import OutOfOrder, in_window, sort_all
from kvaudit.replay.batches import concatenate, without_outputs
from kvaudit.replay.comparison import Comparison, ReplayResult
from kvaudit.replay.engine import CacheSettings, Engine, find_engine
from kvaudit.replay.plan import Plan, cache_settings
from kvaudit.replay.prompts import Prompts
from kvaudit.replay.rows import RequestRows, RowWriter
from kvaudit.replay.step_clock import StepClock, step_clock

# Below this the plain models are done before compiled code would be loaded.
SMALL_UNITS = 3 << 20
SMALL_REQUESTS = 3000


class LateResponse(Exception):
    """The first response as text came after the caches were set up for a log without any."""


def replay_log(
    prompts: Prompts, plan: Plan, open_rows: Callable[[], AbstractContextManager[RowWriter | None]]
) -> ReplayResult | None:
    """Replay a log; return None where it holds no request that could be replayed.

    ``open_rows`` gives a writer for per-request rows. It is opened again, and the one before
    left by an exception, when the log turns out to be far out of order or to hold responses
    as text, neither of which its beginning need show.
    """
    in_order = in_window
    while True:
        try:
            with open_rows() as writer:
                return _replay(in_order(prompts), prompts, plan, writer)
        except OutOfOrder:
            in_order = sort_all
        except LateResponse:
            continue  # `prompts` has seen one now, and keeps that in mind


def _replay(
    batches: Iterator[PromptBatch], prompts: Prompts, plan: Plan, writer: RowWriter | None
) -> ReplayResult | None:
    head, small = head_of(batches)
    if not head:
        return None
    engine = find_engine(plan.engine or ("ideal" if prompts.holds_blocks else "vllm"))
    settings = cache_settings(engine, _scheduled(engine, plan, head), prompts, small=small)
    if settings.retain_s is not None:
        _check_hints(head)
    settings, clock = clocked(settings, plan, head)
    rows = (
        RequestRows(
            writer, engine, settings, prompts, engine_keys=plan.engine_keys, costing=plan.costing
        )
        if writer is not None
        else None
    )
    caches = Comparison(engine, settings, plan, prompts, rows, clock=clock)
    # Responses that the log holds as text are known only up to their spelling in tokens: a
    # second set takes them as they would be spelled, and the truth lies between the two.
    spelled = (
        Comparison(engine, settings, replace(plan, isolation=None), prompts, None, billed=False)
        if prompts.outputs_reencoded
        else None
    )
    stream: Iterable[PromptBatch] = chain(head, batches)
    if engine.needs_whole_log(settings):
        stream = [concatenate(list(stream))]
    for batch in stream:
        if spelled is None and prompts.outputs_reencoded:
            raise LateResponse
        if spelled is not None:
            spelled.feed(batch)
            batch = without_outputs(batch)
        caches.feed(batch)
    return caches.result(spelled)


def clocked(
    settings: CacheSettings, plan: Plan, head: Iterable[PromptBatch]
) -> tuple[CacheSettings, StepClock | None]:
    """Return the settings with how long a step takes, where that is asked for.

    Raises `UsageError` if the log does not say when requests arrive.
    """
    if settings.schedule == "steps":
        _check_steps(head)
    if settings.schedule != "timed":
        return settings, None
    _check_times(head)
    clock = step_clock(plan)
    return replace(settings, step_cost=clock.cost), clock


def _scheduled(engine: Engine, plan: Plan, head: Iterable[PromptBatch]) -> Plan:
    """Return the plan with its schedule: in seconds where the log and the engine allow it.

    Without a bound nothing is evicted, and requests in flight cost no hits.
    """
    bounded = plan.capacity.amount is not None
    alone = plan.fleet is None and plan.tiers is None and plan.retain_s is None
    open_choice = plan.schedule is None and "timed" in engine.schedules
    if bounded and alone and open_choice and _has_times(head):
        return replace(plan, schedule="timed")
    return plan


def _has_times(head: Iterable[PromptBatch]) -> bool:
    return any(facts.arrived_s is not None for batch in head for facts in batch.requests)


def _check_times(head: Iterable[PromptBatch]) -> None:
    if not _has_times(head):
        raise UsageError(
            "--schedule timed needs the second in which each request arrives; add arrived_s to "
            "the log, or use --schedule sequential"
        )


def _check_steps(head: Iterable[PromptBatch]) -> None:
    if all(facts.arrive_step is None for batch in head for facts in batch.requests):
        raise UsageError(
            "--schedule steps needs the step in which each request arrives; add arrive_step to "
            "the log, or leave the option out"
        )


def head_of(batches: Iterator[PromptBatch]) -> tuple[list[PromptBatch], bool]:
    """Return the first batches, and whether they are all of a log that is small."""
    head: list[PromptBatch] = []
    units = requests = 0
    for batch in batches:
        head.append(batch)
        units += len(batch.units)
        requests += len(batch.requests)
        if units > SMALL_UNITS or requests > SMALL_REQUESTS:
            return head, False
    return head, True


def _check_hints(head: Iterable[PromptBatch]) -> None:
    facts = [f for batch in head for f in batch.requests]
    for name in ("arrived_s", "session"):
        if all(getattr(f, name) is None for f in facts):
            raise UsageError(
                f"--retain keeps the blocks of a session for seconds; add {name} to the log, or "
                "leave the option out"
            )
