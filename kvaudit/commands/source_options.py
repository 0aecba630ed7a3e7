"""Options of `kvaudit why` that name the project whose prompts a log is of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvaudit.commands.options import PrintOptions
from kvaudit.core.errors import UsageError

if TYPE_CHECKING:
    from kvaudit.commands.locating import ProjectPrompts
    from kvaudit.core.config import Config

PROJECT = "Project"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """The project whose prompts the log is of."""

    source: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help="Files or folders in which to find the lines that write what differs; may be "
            "repeated.",
            rich_help_panel=PROJECT,
        ),
    ] = None
    learn: Annotated[
        bool,
        typer.Option(
            "--learn",
            help="Propose settings that say how often each variable of --source changes.",
            rich_help_panel=PROJECT,
        ),
    ] = False

    def prompts(self, config: Config) -> ProjectPrompts | None:
        """Return the project's prompts, to be read when needed. Raises `KvauditError`."""
        if self.source is None:
            if self.learn:
                raise UsageError("--learn reads the prompts of a project; name it: --source PATH")
            return None
        from kvaudit.commands.locating import ProjectPrompts

        return ProjectPrompts(self.source, config)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyPrintOptions(PrintOptions):
    """How the result is printed, and where else it goes."""

    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            envvar="KVAUDIT_FORMAT",
            metavar="full|concise|github|json|sarif|toml",
            help="How results are printed (default: by place: GitHub Actions, terminal, pipe).",
        ),
    ] = None
