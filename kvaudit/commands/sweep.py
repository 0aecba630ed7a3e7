"""`kvaudit sweep`: a request log at every capacity, and the capacity that is enough."""

from dataclasses import replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

import typer

from kvaudit.commands import inputs
from kvaudit.commands.groups import grouped
from kvaudit.commands.options import (
    CacheOptions,
    LogArgument,
    LogOptions,
    PrintOptions,
    RunOptions,
)
from kvaudit.commands.planning import fields_of, plan_of
from kvaudit.commands.schedule_options import ScheduleOptions
from kvaudit.commands.semantic_sweep import swept_thresholds
from kvaudit.commands.sweep_options import SweepOptions, check_bounded
from kvaudit.commands.tier_options import TierSizeOptions
from kvaudit.core.errors import Exit
from kvaudit.core.progress import progress

if TYPE_CHECKING:
    from kvaudit.core.curve import SweepReport
    from kvaudit.replay.curve_passes import SweepPlan
    from kvaudit.replay.curve_result import SweepResult
    from kvaudit.replay.prompts import Prompts


@grouped
def sweep(
    logs: LogArgument,
    *,
    log: LogOptions,
    cache: CacheOptions,
    scheduler: ScheduleOptions,
    swept: SweepOptions,
    tiers: TierSizeOptions,
    printed: PrintOptions,
    run: RunOptions,
) -> None:
    """Show how much a cache of any capacity would hit on a request log, and which is enough."""
    from kvaudit.replay.plan import first_counted
    from kvaudit.report.render import format_names, render

    settings = run.start()
    printout = printed.printout(format_names("sweep"))
    printout.check_apart(logs)
    policies, thresholds = swept.semantic_policies(), swept.chosen_thresholds()
    cached = replace(scheduler.applied(plan_of(cache, settings)), tiers=tiers.plan())
    plan = swept.plan(cached)
    if policies:
        columns = [column for _, policy in policies for column in policy.columns]
        source = inputs.open_log(logs, log, settings, columns=tuple(dict.fromkeys(columns)))
        report = swept_thresholds(source, policies, thresholds, plan.cache.warmup)
    else:
        check_bounded(plan.cache.engine)
        namespace, group_by = fields_of(cache, settings), swept.group_field
        report = _swept(inputs.open_log(logs, log, settings), plan, namespace, group_by)
    printout.show(partial(render, "sweep", report))
    counted = report.log.requests - first_counted(plan.cache.warmup, report.log.requests)
    raise typer.Exit(Exit.OK if counted else Exit.NOTHING_CHECKED)


def _swept(
    source: inputs.OpenLog, plan: "SweepPlan", namespace: tuple[str, ...], group_by: str | None
) -> "SweepReport":
    from kvaudit.replay.curve_result import summed_up
    from kvaudit.replay.engine import find_engine
    from kvaudit.replay.prompts import Prompts
    from kvaudit.replay.sweep import read_log

    engine = plan.cache.engine
    with progress("reading", source.reader.size_bytes) as bar:
        prompts = Prompts(
            source.watched_columns(bar),
            encoder=source.encoder,
            namespace=namespace,
            shared_across=find_engine(engine).shared_across if engine else (),
            block_tokens=plan.cache.block_size,
            group_by=group_by,
        )
        passes = read_log(prompts, plan)
    done = count(1)
    with progress("sweeping", None) as bar:
        result = summed_up(passes, lambda: bar.update(next(done))) if passes is not None else None
    return _report(source, prompts, plan, result)


def _report(
    source: inputs.OpenLog, prompts: "Prompts", plan: "SweepPlan", result: "SweepResult | None"
) -> "SweepReport":
    from kvaudit.core.curve import SweepReport
    from kvaudit.core.summaries import Note

    log = inputs.log_summary(source, prompts, result)
    notes = source.notes()
    if plan.cache.model_note is not None:
        notes.append(Note(topic="model", text=plan.cache.model_note))
    if result is None:
        notes.append(inputs.no_rate_note(log))
        return SweepReport(log=log, engine=None, requests=0, prompt_tokens=0, notes=notes)
    notes += inputs.warmup_notes(plan.cache.warmup, log.requests)
    notes += [Note(topic="engine", text=text) for text in result.tier_remarks]
    tokens = result.counted_tokens
    return SweepReport(
        log=log,
        engine=result.engine,
        requests=result.counted_requests,
        prompt_tokens=tokens,
        curve=result.curve,
        exactness=result.exactness,
        method=result.method,
        optimal=result.optimal,
        possible_tokens=result.possible_tokens,
        possible_hit_rate=result.possible_tokens / tokens if tokens else None,
        possible_bounds=result.possible_bounds,
        largest_request_blocks=result.largest_request_blocks,
        distinct_blocks=result.distinct_blocks,
        knee=result.knee,
        recommended=result.recommended,
        block_sizes=result.block_sizes,
        policies=result.policies,
        instances=result.instances,
        tiers=result.tiers,
        grouped_by=plan.grouped_by,
        groups=result.groups,
        definition=result.definition,
        notes=notes,
    )
