"""Options that several commands share, spelled once."""

from pathlib import Path
from typing import Annotated

import typer

from kvaudit.core.console import Color

ConfigOption = Annotated[
    list[str] | None,
    typer.Option(
        "--config",
        metavar="FILE|KEY=VALUE",
        help="Configuration file, or one setting; may be given more than once.",
    ),
]
IsolatedOption = Annotated[
    bool, typer.Option("--isolated", help="Ignore configuration files and KVAUDIT_ variables.")
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        envvar="KVAUDIT_FORMAT",
        metavar="full|concise|github|json",
        help="How results are printed. [default: by place: GitHub Actions, terminal, pipe]",
    ),
]
OutputOption = Annotated[
    list[str] | None,
    typer.Option(
        "--output",
        metavar="KIND:PATH",
        help="Also write results to a file, such as json:run.json; may be repeated.",
    ),
]
ColorOption = Annotated[
    Color, typer.Option("--color", envvar="KVAUDIT_COLOR", help="When to print in colour.")
]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress and no warnings on standard error.")
]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", "-v", help="Details on standard error; tracebacks of crashes.")
]
ShowTextOption = Annotated[
    bool | None,
    typer.Option(
        "--show-text/--no-show-text", help="Show prompt text; secrets are masked even so."
    ),
]
FailUnderOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-under",
        metavar="NAME=LIMIT",
        help="Exit 1 if a figure falls below a limit, such as hit-rate=0.6; may be repeated.",
    ),
]
LogArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="LOG...", help="Request logs; - reads standard input.", show_default=False
    ),
]
