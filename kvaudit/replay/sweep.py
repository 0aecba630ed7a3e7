"""`kvaudit sweep`: one reading of a log, for its hits at any capacity, block size and policy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.arrival import OutOfOrder, in_window, sort_all
from kvaudit.replay.batches import without_outputs
from kvaudit.replay.beginning import LateResponse, head_of
from kvaudit.replay.curve_passes import Passes, PassesOfLog, SweepPlan
from kvaudit.replay.engine import check_choice, find_engine
from kvaudit.replay.log_times import clocked
from kvaudit.replay.plan_settings import cache_settings
from kvaudit.replay.prompts import Prompts
from kvaudit.replay.tier_checks import check_tiers


def read_log(prompts: Prompts, plan: SweepPlan) -> PassesOfLog | None:
    """Read a log; return None where it holds no request that could be replayed."""
    in_order = in_window
    while True:
        try:
            return _read(in_order(prompts), prompts, plan)
        except OutOfOrder:
            in_order = sort_all
        except LateResponse:
            continue  # `prompts` has seen one now, and keeps that in mind


def _read(batches: Iterator[PromptBatch], prompts: Prompts, plan: SweepPlan) -> PassesOfLog | None:
    head, small = head_of(batches)
    if not head:
        return None
    engine = find_engine(plan.cache.engine or ("ideal" if prompts.holds_blocks else "vllm"))
    cache = replace(plan.cache, schedule=plan.cache.schedule or "sequential")
    check_tiers(engine, cache)
    settings = cache_settings(engine, cache, prompts, small=small)
    settings, _ = clocked(settings, cache, head)
    for policy in plan.policies:
        check_choice(engine, version=None, policy=policy, schedule=None, eagle=False)
    sweep = Passes(engine, settings, plan, prompts)
    spelled = Passes(engine, settings, plan, prompts) if prompts.outputs_reencoded else None
    for batch in chain(head, batches):
        if spelled is None and prompts.outputs_reencoded:
            raise LateResponse
        if spelled is not None:
            spelled.feed(batch)
            batch = without_outputs(batch)
        sweep.feed(batch)
    return PassesOfLog(sweep, spelled)
