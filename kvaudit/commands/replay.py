"""`kvaudit replay`: a request log through a cache model."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvaudit.commands import inputs
from kvaudit.commands.cost_options import CostOptions
from kvaudit.commands.costing import costing_of
from kvaudit.commands.device_options import DeviceOptions, on_device, write_accelerator
from kvaudit.commands.fleet_options import FleetOptions
from kvaudit.commands.groups import grouped
from kvaudit.commands.hosted_options import HostedOptions
from kvaudit.commands.isolation_options import IsolationOptions
from kvaudit.commands.options import (
    CacheOptions,
    LogArgument,
    LogOptions,
    PrintOptions,
    RunOptions,
)
from kvaudit.commands.planning import (
    fields_of,
    is_hosted,
    needed_template,
    plan_of,
    shape_of,
    with_fleet,
)
from kvaudit.commands.replaying import replayed, replayed_behind, rows_to
from kvaudit.commands.schedule_options import ScheduleOptions
from kvaudit.commands.semantic_front import alone, replay_front
from kvaudit.commands.semantic_options import SemanticOptions, has_prefix_cache
from kvaudit.commands.tier_options import TierOptions
from kvaudit.core.budgets import judge, parse_fail_over, parse_fail_under
from kvaudit.core.errors import Exit, UsageError

if TYPE_CHECKING:
    from kvaudit.core.results import ReplayReport

RESULTS = "Results"


@grouped
def replay(
    logs: LogArgument,
    *,
    log: LogOptions,
    cache: CacheOptions,
    fleet: FleetOptions,
    tiers: TierOptions,
    hosted: HostedOptions,
    isolation: IsolationOptions,
    semantic: SemanticOptions,
    per_request: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.jsonl|.parquet",
            help="Write one row a request.",
            rich_help_panel=RESULTS,
        ),
    ] = None,
    engine_keys: Annotated[
        str | None,
        typer.Option(
            metavar="ALGORITHM[:SEED]",
            help="Add the engine's own block keys to the rows, such as sha256_cbor:0.",
            rich_help_panel=RESULTS,
        ),
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LIMIT",
            help="Exit 1 if a figure falls below a limit, such as hit-rate=0.6; may be repeated.",
        ),
    ] = None,
    scheduler: ScheduleOptions,
    cost: CostOptions,
    device: DeviceOptions,
    printed: PrintOptions,
    run: RunOptions,
) -> None:
    """Show what a prefix cache would have done on a request log, and what was possible."""
    from kvaudit.replay.plan import first_counted
    from kvaudit.report.render import format_names, render
    from kvaudit.report.rows.writer import check_path

    settings = run.start()
    limits = parse_fail_under(fail_under or ())
    ceilings = parse_fail_over(semantic.fail_over or ())
    policy = semantic.policy()
    printout = printed.printout(format_names())
    if per_request is not None:
        check_path(per_request)
    elif engine_keys is not None:
        raise UsageError("--engine-keys adds a column to the rows; say --per-request FILE too")
    printout.check_apart(logs, [] if per_request is None else [("--per-request", per_request)])
    plan = plan_of(cache, settings, engine_keys=engine_keys, lifetimes=hosted.lifetimes())
    plan = replace(
        with_fleet(scheduler.applied(plan), fleet.plan()),
        tiers=tiers.plan(),
    )
    plan = hosted.hinted(plan)
    shape, hosted_by = shape_of(cache, settings), is_hosted(cache, settings)
    priced = costing_of(cost, shape, settings, hosted=hosted_by)
    plan = on_device(replace(plan, costing=priced.costing), device, shape)
    invoice = hosted.invoice_check(plan)
    template = needed_template(plan, log.chat_template)
    columns = () if policy is None else policy.columns
    source = inputs.open_log(logs, log, settings, chat_template=template, columns=columns)
    namespace = fields_of(cache, settings)
    plan = replace(plan, isolation=isolation.plan(namespace, source.encoder))
    if policy is not None and invoice is not None:
        raise UsageError("--invoice is held against the log as it was; leave --semantic out")
    if policy is None:
        report = replayed(source, plan, namespace, rows_to(per_request), invoice)
    elif has_prefix_cache(cache, settings):
        report = replayed_behind(
            replay_front(source, policy, plan.device), source, plan, namespace, per_request
        )
    else:
        front = replay_front(source, policy, plan.device)
        with front.rows(per_request):
            report = alone(source, front, plan.warmup)
    report = replace(
        report, notes=[*report.notes, *priced.notes], budgets=judge(report, limits, ceilings)
    )
    printout.show(partial(render, "replay", report))
    write_accelerator(report, device.calibrate_accelerator)
    counted = report.log.requests - first_counted(plan.warmup, report.log.requests)
    raise typer.Exit(_exit_code(report, counted))


def _exit_code(report: "ReplayReport", counted: int) -> Exit:
    if not counted:
        return Exit.NOTHING_CHECKED
    if not all(budget.passed for budget in report.budgets):
        return Exit.FINDINGS
    return Exit.OK
