"""What the screens of all commands that read a log have in common."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from kvaudit.core.redact import one_line
from kvaudit.core.summaries import LogSummary
from kvaudit.report import wording
from kvaudit.report.figures import plural
from kvaudit.report.linted import hanging

SHOWN_BROKEN = 3


def left_out_lines(log: LogSummary, width: int) -> Iterator[Text]:
    """Yield what was not used of the log, by reason."""
    if log.skipped:
        yield Text(f"  left out: {log.skipped:,} of {plural(log.records, 'record')}", "yellow")
    for count, reason in wording.left_out(log):
        yield from hanging(f"{count:>9,}  ", reason, width)
    for example in log.broken[:SHOWN_BROKEN]:
        yield from hanging("    broken ", one_line(example), width)
