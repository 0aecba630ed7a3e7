"""Options of `kvaudit why` alone: which fixes are replayed, and whose story is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from kvaudit.core.errors import UsageError

ANALYSIS = "Analysis"
"""Panel of the help."""
DEFAULT_FIXES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyOptions:
    """What is done with what was found."""

    what_if: Annotated[
        str,
        typer.Option(
            metavar="N|all|none",
            help="How many faults are replayed with their fix, the most costly first.",
            rich_help_panel=ANALYSIS,
        ),
    ] = str(DEFAULT_FIXES)
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="REQUEST_ID",
            help="Tell one request's whole story instead.",
            rich_help_panel=ANALYSIS,
        ),
    ] = None

    def fixes(self) -> int | None:
        """Return how many fixes are replayed; None is all. Raises `UsageError`."""
        if self.what_if in ("all", "none"):
            return None if self.what_if == "all" else 0
        if not self.what_if.isdecimal():
            raise UsageError(f"--what-if {self.what_if}: write a number of fixes, all or none")
        return int(self.what_if)
