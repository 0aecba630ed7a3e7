"""What the screens of all commands that read a log have in common."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

from rich.text import Text

from kvaudit.core.console import Screen, rich_console
from kvaudit.core.redact import one_line
from kvaudit.core.results import LogSummary
from kvaudit.report import wording
from kvaudit.report.figures import plural
from kvaudit.report.linted import hanging

SHOWN_BROKEN = 3


def printed(parts: Iterable[Iterator[Text]], screen: Screen) -> str:
    """Return the lines of the parts that have any, with an empty line between parts."""
    file = io.StringIO()
    console = rich_console(file, screen)
    shown = [lines for part in parts if (lines := list(part))]
    for number, lines in enumerate(shown):
        if number:
            console.print()
        for line in lines:
            console.print(line, no_wrap=True, overflow="ignore", crop=False)
    return file.getvalue()


def left_out_lines(log: LogSummary, width: int) -> Iterator[Text]:
    """Yield what was not used of the log, by reason."""
    if log.skipped:
        yield Text(f"  left out: {log.skipped:,} of {plural(log.records, 'record')}", "yellow")
    for count, reason in wording.left_out(log):
        yield from hanging(f"{count:>9,}  ", reason, width)
    for example in log.broken[:SHOWN_BROKEN]:
        yield from hanging("    broken ", one_line(example), width)
