"""`kvaudit keys`: what a key of an answer cache would mix up or split on a request log."""

from __future__ import annotations

from functools import partial

import typer

from kvaudit.commands import inputs
from kvaudit.commands.cost_options import CostOptions
from kvaudit.commands.groups import grouped
from kvaudit.commands.isolation_options import IsolationOptions
from kvaudit.commands.key_options import KeyOptions, columns_among
from kvaudit.commands.options import (
    CacheOptions,
    LogArgument,
    LogOptions,
    PrintOptions,
    RunOptions,
)
from kvaudit.commands.schedule_options import ScheduleOptions
from kvaudit.core.errors import Exit


@grouped
def keys(
    logs: LogArgument,
    *,
    candidates: KeyOptions,
    log: LogOptions,
    cache: CacheOptions,
    scheduler: ScheduleOptions,
    isolation: IsolationOptions,
    cost: CostOptions,
    printed: PrintOptions,
    run: RunOptions,
) -> None:
    """Show what keys of an answer cache would mix up or split, and propose one."""
    from kvaudit.commands.key_audit import Asked, audited
    from kvaudit.commands.key_namespace import PrefixCache, with_namespace
    from kvaudit.commands.key_sources import source_keys
    from kvaudit.commands.planning import needed_template
    from kvaudit.report.render import format_names, render

    settings = run.start()
    printout = printed.printout(format_names("keys"))
    printout.check_apart(logs)
    candidates.least()
    prefix = PrefixCache.of(cache, scheduler, isolation, cost, settings)
    in_source, notes = source_keys(candidates.from_source or ())
    asked = Asked(
        keys=candidates.chosen(),
        in_source=in_source,
        notes=notes,
        matters=candidates.judged_by(),
        warmup=prefix.plan.warmup,
        timeout_s=candidates.timeout,
        show_text=settings.show_text if log.show_text is None else log.show_text,
    )
    source = inputs.open_log(
        logs,
        log,
        settings,
        chat_template=needed_template(prefix.plan, log.chat_template),
        columns=columns_among(asked.names()),
    )
    report = audited(source, asked)
    if not candidates.keys_only:
        report = with_namespace(report, prefix, source)
    printout.show(partial(render, "keys", report))
    nothing = candidates.from_source and not report.keys
    if nothing or report.proposed is None or not report.proposed.requests:
        raise typer.Exit(Exit.NOTHING_CHECKED)
    raise typer.Exit(Exit.FINDINGS if candidates.fails(report) else Exit.OK)
