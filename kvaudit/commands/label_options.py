"""Options for labelling what a semantic cache served."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

LABELS = "Labels"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelOptions:
    """A sheet of hits to label, and what its labels count for."""

    sheet: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT.csv",
            help="Write a sheet of the policy's hits on the log, for people to label.",
            rich_help_panel=LABELS,
        ),
    ] = None
    sample: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Hits drawn at random; unset, as many as prove the limit with one wrong.",
            rich_help_panel=LABELS,
        ),
    ] = None
    risky: Annotated[
        int,
        typer.Option(
            min=0,
            help="More hits, from where faults are likely; counted apart.",
            rich_help_panel=LABELS,
        ),
    ] = 50
    seed: Annotated[int, typer.Option(help="Of the random sample.", rich_help_panel=LABELS)] = 0
    label: Annotated[
        Path | None,
        typer.Option(
            metavar="SHEET.csv",
            help="Label a sheet here in the terminal; stop and go on at any time.",
            rich_help_panel=LABELS,
        ),
    ] = None
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="SHEET.csv",
            help="Say what a sheet's labels prove; exit 1 if the limit is proven exceeded.",
            rich_help_panel=LABELS,
        ),
    ] = None
    depends: Annotated[
        str,
        typer.Option(
            metavar="wrong|same|skip",
            help="What the label depends counts as.",
            rich_help_panel=LABELS,
        ),
    ] = "wrong"
    monitor: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Follow labels of production, one a line, against the limit in both directions.",
            rich_help_panel=LABELS,
        ),
    ] = None

    @property
    def read(self) -> list[Path]:
        """Files that are read."""
        return [path for path in (self.labels, self.monitor) if path is not None]
