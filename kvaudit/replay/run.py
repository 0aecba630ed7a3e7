"""One pass of a log through the caches, in the order of arrival."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from kvaudit.core.errors import UsageError
from kvaudit.core.lookups import Follower
from kvaudit.core.prompts import PromptBatch
from kvaudit.replay.arrival import OutOfOrder, in_window, sort_all
from kvaudit.replay.batches import concatenate, without_outputs
from kvaudit.replay.beginning import LateResponse, head_of
from kvaudit.replay.comparison import Comparison
from kvaudit.replay.device.plan import DevicePlan
from kvaudit.replay.engine import CacheSettings, find_engine
from kvaudit.replay.log_times import check_hints, clocked, with_schedule
from kvaudit.replay.parts.all import parts_of
from kvaudit.replay.parts.followed import FollowedPart
from kvaudit.replay.plan import Plan
from kvaudit.replay.plan_settings import cache_settings
from kvaudit.replay.prompt_stream import PromptStream
from kvaudit.replay.result import ReplayResult
from kvaudit.replay.rows import RowWriter
from kvaudit.replay.setup import Setup

if TYPE_CHECKING:
    from kvaudit.replay.device.assembly import Assembly


def replay_log(
    prompts: PromptStream,
    plan: Plan,
    open_rows: Callable[[], AbstractContextManager[RowWriter | None]] = nullcontext,
    *,
    follow: Callable[[], Follower] | None = None,
) -> ReplayResult | None:
    """Replay a log; return None where it holds no request that could be replayed.

    ``open_rows`` gives a writer for per-request rows. It is opened again, and the one before
    left by an exception, when the log turns out to be far out of order or to hold responses
    as text, neither of which its beginning need show. ``follow`` makes a follower, which is
    told what became of every request; it is asked for another one when the log is read again.
    """
    in_order = in_window
    while True:
        try:
            with open_rows() as writer:
                follower = None if follow is None else follow()
                return _replay(in_order(prompts), prompts, plan, writer, follower)
        except OutOfOrder:
            in_order = sort_all
        except LateResponse:
            continue  # `prompts` has seen one now, and keeps that in mind


def _replay(
    batches: Iterator[PromptBatch],
    prompts: PromptStream,
    plan: Plan,
    writer: RowWriter | None,
    follower: Follower | None,
) -> ReplayResult | None:
    head, small = head_of(batches)
    if not head:
        return None
    engine = find_engine(plan.engine or ("ideal" if prompts.holds_blocks else "vllm"))
    settings = cache_settings(engine, with_schedule(engine, plan, head), prompts, small=small)
    if settings.retain_s is not None:
        check_hints(head, "session", "arrived_s")
    if settings.trtllm.retention.has_durations:
        check_hints(head, "arrived_s")
    settings, clock = clocked(settings, plan, head)
    device = None
    if plan.device is not None and plan.device.execution is not None:
        # Read to its end first: what its end may tell, such as that it is out of order, is then
        # known before a large model is loaded.
        head, batches = [concatenate([*head, *batches])], iter(())
        device = _assembled(plan.device, prompts, settings)
        settings = replace(settings, capacity_blocks=device.capacity_blocks, small=True)
    setup = Setup(
        engine=engine,
        settings=settings,
        plan=plan,
        prompts=prompts,
        clock=clock,
        writer=writer,
        device=device,
    )
    stream: Iterable[PromptBatch] = chain(head, batches)
    if engine.needs_whole_log(settings):
        stream = [concatenate(list(stream))]
    return _fed(setup, stream, follower)


def _assembled(device: DevicePlan, prompts: PromptStream, settings: CacheSettings) -> Assembly:
    from kvaudit.replay.device.assembly import assemble

    if prompts.holds_blocks:
        raise UsageError(
            "--model: a model is run on text or tokens, and the log holds block hashes only; "
            "leave out --model to match these on the device, or leave out --device"
        )
    return assemble(device, settings)


def _fed(setup: Setup, stream: Iterable[PromptBatch], follower: Follower | None) -> ReplayResult:
    """Feed every batch to the caches and to what watches them."""
    caches = Comparison(setup)
    parts = parts_of(setup, caches.cache)
    if follower is not None:
        parts = [*parts, FollowedPart(follower, caches.cache)]
    # Responses that the log holds as text are known only up to their spelling in tokens: a
    # second set takes them as they would be spelled, and the truth lies between the two.
    reencoded = setup.prompts.outputs_reencoded
    spelled = Comparison(replace(setup, device=None)) if reencoded else None
    for batch in stream:
        if spelled is None and setup.prompts.outputs_reencoded:
            raise LateResponse
        if spelled is not None:
            spelled.feed(batch)
            batch = without_outputs(batch)
        served = caches.feed(batch)
        for part in parts:
            part.feed(served)
    return caches.result(spelled, parts)
