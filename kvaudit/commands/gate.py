"""`kvaudit gate`: budgets and a baseline on finished runs, for CI."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from kvaudit.commands.groups import grouped
from kvaudit.commands.options import PrintOptions, RunOptions

LIMITS = "Limits"


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitOptions:
    """What the runs are held against; None leaves it to the settings."""

    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LIMIT",
            help="Exit 1 if a figure is below a limit, such as hit-rate=0.6; may be repeated.",
            rich_help_panel=LIMITS,
        ),
    ] = None
    fail_over: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LIMIT",
            help="Exit 1 if a figure is above a limit, such as false-hit-rate=0.02, leaks=0 or "
            "lost-tokens=100000; may be repeated.",
            rich_help_panel=LIMITS,
        ),
    ] = None
    baseline: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="BASE.json",
            help="An earlier run that this one must not be worse than; one a command.",
            rich_help_panel=LIMITS,
        ),
    ] = None
    max_drop: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="How much worse than the baseline a rate may be, such as 0.02 (default: 0).",
            rich_help_panel=LIMITS,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictPrintOptions(PrintOptions):
    """How the verdict is printed, and where else it goes."""

    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            envvar="KVAUDIT_FORMAT",
            metavar="full|concise|github|json|markdown",
            help="How the verdict is printed (default: by place: GitHub Actions, terminal, pipe).",
        ),
    ] = None


@grouped
def gate(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN.json...",
            help="What replay, sweep, why, keys, calibrate or lint printed with --format json; "
            "- reads standard input.",
            show_default=False,
        ),
    ],
    *,
    limits: LimitOptions,
    printed: VerdictPrintOptions,
    run: RunOptions,
) -> None:
    """Hold finished runs against budgets and a baseline; exit 1 if any is missed."""
    from kvaudit.core.gating import FAIL_OVER, FAIL_UNDER, checked_limits, parse_limits
    from kvaudit.core.output import append_summary
    from kvaudit.core.runs import read_run
    from kvaudit.core.verdict import exit_code, verdict
    from kvaudit.report.render import format_names, render

    config = run.config_in_force()
    asked = config.settings.gate
    printout = printed.printout(format_names("gate"))
    set_at = config.origins.get
    floors = checked_limits(FAIL_UNDER, set_at("gate.fail-under", ""), asked.fail_under)
    ceilings = checked_limits(FAIL_OVER, set_at("gate.fail-over", ""), asked.fail_over)
    baselines = limits.baseline
    if baselines is None:
        baselines = [Path(asked.baseline)] if asked.baseline is not None else []
    printout.check_apart([*runs, *baselines])
    report = verdict(
        [read_run(path) for path in runs],
        [read_run(path) for path in baselines],
        floors=floors | parse_limits(FAIL_UNDER, limits.fail_under or ()),
        ceilings=ceilings | parse_limits(FAIL_OVER, limits.fail_over or ()),
        max_drop=asked.max_drop if limits.max_drop is None else limits.max_drop,
    )
    printout.show(partial(render, "gate", report))
    append_summary(lambda: render("gate", report, "markdown"))
    raise typer.Exit(exit_code(report))
