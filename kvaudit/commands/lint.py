"""`kvaudit lint`: prompts, and the code that builds them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvaudit.commands.groups import grouped
from kvaudit.commands.lint_options import (
    FileOptions,
    FixOptions,
    FormatOption,
    KnownOptions,
    RuleOptions,
    TrafficOptions,
    VerdictOptions,
)
from kvaudit.commands.options import ColorOption, OutputOption, RunOptions
from kvaudit.commands.printout import Printout
from kvaudit.core.console import Color
from kvaudit.core.errors import Exit, UsageError

if TYPE_CHECKING:
    from kvaudit.analyzers.inspection import Inspection
    from kvaudit.core.findings import LintResult, Severity


@grouped
def lint(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PATH]...",
            help="Files or folders; - reads standard input (default: this folder).",
            show_default=False,
        ),
    ] = None,
    *,
    files: FileOptions,
    rules: RuleOptions,
    traffic: TrafficOptions,
    known: KnownOptions,
    fixes: FixOptions,
    verdict: VerdictOptions,
    format_: FormatOption = None,
    output: OutputOption = None,
    color: ColorOption = Color.AUTO,
    run: RunOptions,
) -> None:
    """Find what keeps prompts from sharing a cached prefix, in templates and in code."""
    from kvaudit.analyzers.baseline import write_result
    from kvaudit.commands import lint_written, linting
    from kvaudit.report.render import format_names, render

    config = run.config_in_force()
    printout = Printout.of(format_, output, color, format_names("lint"))
    lint_written.check_written(printout, known, paths or ())
    least = linting.least_severity(verdict, config.settings)
    inspection = linting.prepare(
        linting.Asked(paths or (), files, rules, traffic, known, isolated=run.isolated), config
    )
    inspection = lint_written.without_results(inspection, printout, known)
    if fixes.diff or fixes.fix or fixes.unsafe_fixes:
        _check_files(inspection)
    if fixes.diff:
        raise typer.Exit(_show_diff(inspection, unsafe=fixes.unsafe_fixes))
    result = _inspected(inspection, fixes)
    if known.write_baseline is not None:
        result = write_result(known.write_baseline, result, inspection.terms.place)
    printout.show(partial(render, "lint", result))
    raise typer.Exit(_exit_code(result, verdict, least))


def _check_files(inspection: Inspection) -> None:
    if inspection.piped is not None:
        raise UsageError("--fix and --diff change files, and standard input is none; name a file")


def _inspected(inspection: Inspection, fixes: FixOptions) -> LintResult:
    if fixes.fix or fixes.unsafe_fixes:
        return _fixed(inspection, unsafe=fixes.unsafe_fixes)
    return inspection.run()


def _exit_code(result: LintResult, verdict: VerdictOptions, least: Severity | None) -> Exit:
    if result.crashes:
        return _crashed(result)
    if not result.checked:
        return Exit.OK if verdict.allow_empty else Exit.NOTHING_CHECKED
    return Exit.FINDINGS if result.fails(least) and not verdict.exit_zero else Exit.OK


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
