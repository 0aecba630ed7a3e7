"""Lines for a terminal, as text."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

from rich.text import Text

from kvaudit.core.console import Screen, rich_console


def printed(parts: Iterable[Iterator[Text]], screen: Screen) -> str:
    """Return the lines of the parts that have any, with an empty line between parts."""
    return printed_lines(_spaced(parts), screen)


def printed_lines(lines: Iterable[Text], screen: Screen) -> str:
    """Return lines as they stand: nothing is wrapped or cut."""
    file = io.StringIO()
    console = rich_console(file, screen)
    for line in lines:
        console.print(line, no_wrap=True, overflow="ignore", crop=False)
    return file.getvalue()


def _spaced(parts: Iterable[Iterator[Text]]) -> Iterator[Text]:
    shown = [lines for part in parts if (lines := list(part))]
    for number, lines in enumerate(shown):
        if number:
            yield Text("")
        yield from lines
