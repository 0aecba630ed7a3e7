"""A command's result on standard output, and in the files that ``--output`` names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import typer

from kvaudit.core.console import Color, Screen
from kvaudit.core.output import (
    Target,
    check_apart,
    check_format,
    default_format,
    parse_outputs,
    write_outputs,
)


class Printout(NamedTuple):
    """Where a result goes, and in which format; made before any work is done."""

    kind: str
    targets: Sequence[Target]
    color: Color

    @classmethod
    def of(
        cls,
        format_: str | None,
        output: Sequence[str] | None,
        color: Color,
        known: Sequence[str],
    ) -> Printout:
        """Read the options of printing; ``known`` are the formats of the command.

        Raises `UsageError` for an unknown format, and for a file that could not be written.
        """
        kind = check_format(format_ or default_format(sys.stdout), known)
        return cls(kind, parse_outputs(output or (), known), color)

    def check_apart(self, read: Sequence[Path], others: Sequence[tuple[str, Path]] = ()) -> None:
        """Raise `UsageError` where two outputs share a file, or one is a file that is read.

        ``others`` are further options that name a file to write, with that file.
        """
        check_apart([*(("--output", target.path) for target in self.targets), *others], read)

    def show(self, render: Callable[[str, Screen | None], str]) -> None:
        """Print the result and write it to every target; ``render`` makes one format's text."""
        screen = Screen.of(sys.stdout, self.color)
        typer.echo(render(self.kind, screen), nl=False, color=screen.color)
        write_outputs(self.targets, lambda name: render(name, None))
