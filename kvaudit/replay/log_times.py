"""What a schedule needs of a log's times, judged by its first batches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from kvaudit.core.errors import UsageError
from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.engine import CacheSettings, Engine
from kvaudit.replay.plan import Plan

if TYPE_CHECKING:
    from kvaudit.replay.step_clock import StepClock


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
    from kvaudit.replay.step_clock import step_clock

    clock = step_clock(plan)
    return replace(settings, step_cost=clock.cost), clock


def with_schedule(engine: Engine, plan: Plan, head: Iterable[PromptBatch]) -> Plan:
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


def check_hints(head: Iterable[PromptBatch], *needed: str) -> None:
    """Refuse a log without what `--retain` needs to know. Raises `UsageError`."""
    facts = [f for batch in head for f in batch.requests]
    for name in needed:
        if all(getattr(f, name) is None for f in facts):
            raise UsageError(
                f"--retain keeps blocks for seconds and needs to know {name}; add it to the log, "
                "or leave the option out"
            )
