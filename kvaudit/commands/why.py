"""`kvaudit why`: which text keeps requests of a log from sharing, and what that costs."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import typer

from kvaudit.commands import inputs
from kvaudit.commands.cost_options import CostOptions
from kvaudit.commands.costing import costing_of
from kvaudit.commands.fleet_options import FleetOptions
from kvaudit.commands.groups import grouped
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
from kvaudit.commands.schedule_options import ScheduleOptions
from kvaudit.commands.why_options import WhyOptions
from kvaudit.core.errors import Exit
from kvaudit.core.progress import progress

if TYPE_CHECKING:
    from kvaudit.core.why import WhyReport
    from kvaudit.replay.plan import Plan


@grouped
def why(
    logs: LogArgument,
    *,
    log: LogOptions,
    cache: CacheOptions,
    fleet: FleetOptions,
    scheduler: ScheduleOptions,
    analysis: WhyOptions,
    cost: CostOptions,
    printed: PrintOptions,
    run: RunOptions,
) -> None:
    """Show which text keeps requests from sharing a prefix, and how many tokens that costs."""
    from kvaudit.report.render import format_names, render_why

    settings = run.start()
    printout = printed.printout(format_names("why"))
    printout.check_apart(logs)
    fixes = analysis.fixes()
    plan = with_fleet(scheduler.applied(plan_of(cache, settings)), fleet.plan())
    hosted = is_hosted(cache, settings)
    priced = costing_of(cost, shape_of(cache, settings), settings, hosted=hosted)
    plan = replace(plan, costing=priced.costing)
    template = needed_template(plan, log.chat_template)
    source = inputs.open_log(logs, log, settings, chat_template=template)
    show_text = settings.show_text if log.show_text is None else log.show_text
    namespace = fields_of(cache, settings)
    report = _explained(source, plan, namespace, show_text=show_text, fixes=fixes)
    report = replace(report, notes=[*report.notes, *priced.notes])
    printout.show(partial(render_why, report))
    raise typer.Exit(Exit.OK if report.requests else Exit.NOTHING_CHECKED)


def _explained(
    source: inputs.OpenLog,
    plan: "Plan",
    namespace: tuple[str, ...],
    *,
    show_text: bool,
    fixes: int | None,
) -> "WhyReport":
    from kvaudit.commands.diagnosis import Diagnosis

    with progress("following", source.reader.size_bytes) as bar:
        diagnosis = Diagnosis(source, source.watched(bar), plan, namespace)
    with diagnosis:
        return diagnosis.report(show_text=show_text, fixes=fixes)
