"""`kvaudit lint`: prompts, and the code that builds them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvaudit.commands.options import (
    ColorOption,
    ConfigOption,
    IsolatedOption,
    OutputOption,
    QuietOption,
    VerboseOption,
)
from kvaudit.core.console import Color, Screen, set_verbosity
from kvaudit.core.errors import Exit, UsageError
from kvaudit.core.output import (
    check_apart,
    check_format,
    check_writable,
    default_format,
    parse_outputs,
    write_outputs,
)

if TYPE_CHECKING:
    from kvaudit.analyzers.inspection import Inspection
    from kvaudit.core.findings import LintResult

FILES, RULES, TRAFFIC = "Files", "Rules", "Traffic"
KNOWN, FIXES, RESULTS = "Known findings", "Fixes", "Results"


def lint(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PATH]...",
            help="Files or folders; - reads standard input (default: this folder).",
            show_default=False,
        ),
    ] = None,
    stdin_filename: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="What standard input would be called.", rich_help_panel=FILES
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Leave these files out, as in .gitignore; may be repeated.",
            rich_help_panel=FILES,
        ),
    ] = None,
    force_exclude: Annotated[
        bool,
        typer.Option(
            "--force-exclude",
            help="Leave excluded files out even where they are named.",
            rich_help_panel=FILES,
        ),
    ] = False,
    select: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE,...",
            help="Use these rules only, by name or code.",
            rich_help_panel=RULES,
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="RULE,...", help="Leave these rules out.", rich_help_panel=RULES),
    ] = None,
    rules: Annotated[
        list[Path] | None,
        typer.Option(metavar="FOLDER", help="Use the rule files there too.", rich_help_panel=RULES),
    ] = None,
    provider: Annotated[
        str | None,
        typer.Option(help="Whose API the prompts go to.", rich_help_panel=TRAFFIC),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Model the prompts go to.", rich_help_panel=TRAFFIC)
    ] = None,
    multi_turn: Annotated[
        bool | None,
        typer.Option(
            "--multi-turn/--single-turn",
            help="Whether prompts grow turn by turn (default: as it looks).",
            rich_help_panel=TRAFFIC,
        ),
    ] = None,
    isolate: Annotated[
        str | None,
        typer.Option(
            metavar="none|tenant",
            help="tenant: no prefix is to be shared between tenants.",
            rich_help_panel=TRAFFIC,
        ),
    ] = None,
    retention_days: Annotated[
        float | None,
        typer.Option(
            min=0, help="How long KV lives, where it outlives a day.", rich_help_panel=TRAFFIC
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="REF",
            help="Report only what lines new since this commit brought.",
            rich_help_panel=KNOWN,
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Do not report what stands there.", rich_help_panel=KNOWN
        ),
    ] = None,
    write_baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write today's findings as a baseline.", rich_help_panel=KNOWN
        ),
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Make the safe fixes.", rich_help_panel=FIXES)
    ] = False,
    unsafe_fixes: Annotated[
        bool,
        typer.Option(
            "--unsafe-fixes",
            help="Make also fixes that change what is rendered.",
            rich_help_panel=FIXES,
        ),
    ] = False,
    diff: Annotated[
        bool,
        typer.Option(
            "--diff",
            help="Show what --fix would change, and exit 1 if anything.",
            rich_help_panel=FIXES,
        ),
    ] = False,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="error|warning|info|never",
            help="The lowest severity that ends in exit code 1 (default: warning).",
            rich_help_panel=RESULTS,
        ),
    ] = None,
    exit_zero: Annotated[
        bool,
        typer.Option("--exit-zero", help="Exit 0 also with findings.", rich_help_panel=RESULTS),
    ] = False,
    allow_empty: Annotated[
        bool,
        typer.Option(
            "--allow-empty", help="Exit 0 also if nothing was checked.", rich_help_panel=RESULTS
        ),
    ] = False,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            envvar="KVAUDIT_FORMAT",
            metavar="full|concise|json|sarif|github|gitlab|junit",
            help="How results are printed (default: by place: GitHub Actions, terminal, pipe).",
            rich_help_panel=RESULTS,
        ),
    ] = None,
    output: OutputOption = None,
    config: ConfigOption = None,
    isolated: IsolatedOption = False,
    color: ColorOption = Color.AUTO,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Find what keeps prompts from sharing a cached prefix, in templates and in code."""
    from kvaudit.analyzers.baseline import write_result
    from kvaudit.commands import linting
    from kvaudit.report.render import format_names, render_lint

    set_verbosity(quiet=quiet, verbose=verbose)
    kind = check_format(format_ or default_format(sys.stdout), format_names("lint"))
    targets = parse_outputs(output or (), format_names("lint"))
    named = [("--output", target.path) for target in targets]
    if write_baseline is not None:
        check_writable(write_baseline, option="--write-baseline")
        named.append(("--write-baseline", write_baseline))
    check_apart(named, paths or ())
    choices = linting.Choices(
        paths=paths or (),
        stdin_filename=stdin_filename,
        exclude=exclude or (),
        force_exclude=force_exclude,
        select=linting.words(select),
        ignore=linting.words(ignore),
        rules=rules or (),
        provider=provider,
        model=model,
        multi_turn=multi_turn,
        isolate=isolate,
        retention_days=retention_days,
        since=since,
        baseline=baseline if write_baseline is None else None,
        without_baseline=write_baseline is not None,
        fail_on=fail_on,
        config=config or (),
        isolated=isolated,
    )
    inspection, least = linting.prepare(choices)
    if (fix or diff) and inspection.piped is not None:
        raise UsageError("--fix and --diff change files, and standard input is none; name a file")
    if diff:
        raise typer.Exit(_show_diff(inspection, unsafe=unsafe_fixes))
    result = _fixed(inspection, unsafe=unsafe_fixes) if fix or unsafe_fixes else inspection.run()
    if write_baseline is not None:
        result = write_result(write_baseline, result, inspection.terms.place)
    screen = Screen.of(sys.stdout, color)
    typer.echo(render_lint(result, kind, screen), nl=False, color=screen.color)
    write_outputs(targets, lambda name: render_lint(result, name))
    if result.crashes:
        raise typer.Exit(_crashed(result))
    if not result.checked:
        raise typer.Exit(Exit.OK if allow_empty else Exit.NOTHING_CHECKED)
    raise typer.Exit(Exit.FINDINGS if result.fails(least) and not exit_zero else Exit.OK)


def _crashed(result: LintResult) -> Exit:
    """Say on standard error what kvaudit failed on; the rest of the result stands."""
    for crash in result.crashes:
        typer.echo(
            f"error: kvaudit crashed, which is a bug of it and not of your files: {crash}; "
            "run again with -v for the traceback",
            err=True,
        )
    return Exit.ERROR


ROUNDS = 10
"""Fixing ends at the latest after so many rounds: a fix may free the way for another."""


def _fixed(inspection: Inspection, *, unsafe: bool) -> LintResult:
    """Fix, lint again, and go on while that leaves something to fix."""
    from kvaudit.analyzers.fixing import repairs

    result = inspection.run()
    fixed = 0
    for _ in range(ROUNDS):
        done = repairs(result.findings, unsafe=unsafe)
        for repair in done.files:
            repair.write()
        fixed += done.fixed
        result = replace(inspection.run(), notes=done.notes) if done.files else result
        if not done.files:
            return replace(result, fixed=fixed, notes=done.notes)
    return replace(result, fixed=fixed)


def _show_diff(inspection: Inspection, *, unsafe: bool) -> Exit:
    """Print what fixing would change, credentials starred."""
    from kvaudit.analyzers.fixing import repairs
    from kvaudit.core.redact import starred

    result = inspection.run()
    done = repairs(result.findings, unsafe=unsafe)
    for repair in done.files:
        typer.echo(starred("".join(repair.diff())), nl=False)
    for note in done.notes:
        typer.echo(note, err=True)
    if done.files:
        return Exit.FINDINGS
    return Exit.OK if result.checked else Exit.NOTHING_CHECKED
