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
from kvaudit.commands.source_options import SourceOptions, WhyPrintOptions
from kvaudit.commands.why_options import WhyOptions
from kvaudit.core.errors import Exit, UsageError
from kvaudit.core.progress import progress

if TYPE_CHECKING:
    from kvaudit.commands.diagnosis import Diagnosis
    from kvaudit.commands.locating import ProjectPrompts
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
    written: SourceOptions,
    printed: WhyPrintOptions,
    run: RunOptions,
) -> None:
    """Show which text keeps requests from sharing a prefix, and how many tokens that costs."""
    from kvaudit.commands.explaining import story_of
    from kvaudit.report.render import format_names, render

    config = run.config_in_force()
    settings = config.settings
    printout = printed.printout(format_names("why" if analysis.explain is None else "story"))
    printout.check_apart([*logs, *(written.source or ())])
    if analysis.explain is not None and (written.source or written.learn):
        raise UsageError(
            "--explain tells the story of one request, and --source and --learn speak of the whole "
            "log: run kvaudit why once with either"
        )
    prompts, fixes = written.prompts(config), analysis.fixes()
    plan = with_fleet(scheduler.applied(plan_of(cache, settings)), fleet.plan())
    hosted = is_hosted(cache, settings)
    priced = costing_of(cost, shape_of(cache, settings), settings, hosted=hosted)
    plan = replace(plan, costing=priced.costing)
    template = needed_template(plan, log.chat_template)
    source = inputs.open_log(logs, log, settings, chat_template=template)
    show_text = settings.show_text if log.show_text is None else log.show_text
    namespace = fields_of(cache, settings)
    with _diagnosed(source, plan, namespace) as diagnosis:
        if analysis.explain is not None:
            story = story_of(diagnosis, analysis.explain, show_text=show_text, fixes=fixes)
            printout.show(partial(render, "story", story))
            raise typer.Exit(Exit.OK)
        report = diagnosis.report(show_text=show_text, fixes=fixes)
        if prompts is not None and report.engine is not None:
            report = _placed(report, diagnosis, prompts, learn=written.learn)
    report = replace(report, notes=[*report.notes, *priced.notes])
    printout.show(partial(render, "why", report))
    raise typer.Exit(Exit.OK if report.requests else Exit.NOTHING_CHECKED)


def _diagnosed(source: inputs.OpenLog, plan: "Plan", namespace: tuple[str, ...]) -> "Diagnosis":
    from kvaudit.commands.diagnosis import Diagnosis

    with progress("following", source.reader.size_bytes) as bar:
        return Diagnosis(source, source.watched(bar), plan, namespace)


def _placed(
    report: "WhyReport", diagnosis: "Diagnosis", prompts: "ProjectPrompts", *, learn: bool
) -> "WhyReport":
    from kvaudit.commands.learning import learned
    from kvaudit.commands.locating import located

    report = located(report, diagnosis, prompts)
    return learned(report, diagnosis, prompts) if learn else report
