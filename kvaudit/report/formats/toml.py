"""What --learn proposes, as settings ready to paste into pyproject.toml."""

from __future__ import annotations

from kvaudit.core.console import Screen
from kvaudit.core.why import WhyReport
from kvaudit.report.divergences import variables_toml

NOTHING = "# no variable of the project's prompts is met often enough in the log"


def why(report: WhyReport, screen: Screen) -> str:
    """Return the table of variables; a comment where the log says nothing of any."""
    return "".join(f"{line}\n" for line in list(variables_toml(report)) or [NOTHING])
