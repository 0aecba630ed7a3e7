"""Options that say what a model runs on, and what that costs."""

from dataclasses import dataclass
from typing import Annotated

import typer

COST = "Cost"
"""Panel of the help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostOptions:
    """What the model's work is priced with; needs ``--model``."""

    accelerator: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE.toml",
            help="What the model runs on, such as h100: for times and accelerator-hours; or a file "
            "that --calibrate-accelerator has written.",
            rich_help_panel=COST,
        ),
    ] = None
    accelerators: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=4096,
            help="How many of them share the model (default: 1).",
            rich_help_panel=COST,
        ),
    ] = None
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="bf16|fp8|int8|nvfp4|mxfp4|int4",
            help="How the weights are stored (default: as the model's config says).",
            rich_help_panel=COST,
        ),
    ] = None
    mfu: Annotated[
        float | None,
        typer.Option(
            min=0.01,
            max=1,
            help="Share of its peak that an accelerator reaches in prefill (default: 0.5).",
            rich_help_panel=COST,
        ),
    ] = None
    price_per_hour: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1_000_000,
            metavar="USD",
            help="Price of one accelerator for an hour.",
            rich_help_panel=COST,
        ),
    ] = None
