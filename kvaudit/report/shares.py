"""A table of shares on the screen: of namespaces, sessions, replicas."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from kvaudit.core.redact import one_line
from kvaudit.report.figures import percent


def share_heading(label: str) -> Text:
    """Return the head of a table of shares."""
    names = f"{'requests':>12}{'tokens':>14}{'hit rate':>12}"
    return Text.assemble(f"  {label:34}", (names, "dim"))


def share_row(label: str, requests: int, tokens: str, rate: float | None) -> Text:
    """Return one share: its name, requests, tokens and hit rate."""
    shown = one_line(label)
    if cell_len(shown) > 32:
        shown = set_cell_size(shown, 31) + "…"
    return Text(f"    {set_cell_size(shown, 32)}{requests:>12,}{tokens:>14}{percent(rate):>12}")
