"""`kvaudit report`: a finished run as a page, as Markdown or as a table."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from kvaudit.commands.options import ColorOption, OutputOption
from kvaudit.commands.printout import Printout
from kvaudit.core.console import Color
from kvaudit.core.errors import Exit


def report(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN.json",
            help="What replay, sweep, why, keys, calibrate or lint printed with --format json; "
            "- reads standard input.",
        ),
    ],
    format_: Annotated[
        str,
        typer.Option("--format", metavar="html|markdown|csv", help="How the run is printed."),
    ] = "markdown",
    output: OutputOption = None,
    color: ColorOption = Color.AUTO,
) -> None:
    """Print a finished run as Markdown, as an HTML page of its own, or as CSV."""
    from kvaudit.core.runs import read_run
    from kvaudit.report.render import format_names, render
    from kvaudit.report.sheet import sheet_of

    printout = Printout.of(format_, output, color, format_names("finished"))
    printout.check_apart([run])
    finished = read_run(run)
    printout.show(partial(render, "finished", sheet_of(finished)))
    raise typer.Exit(Exit.OK)
