"""Progress of long work, on standard error, where somebody is there to see it.

Nothing is shown in a pipe, with ``-q``, or for work that is over within a second.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kvaudit.core.console import LOGGER, Screen, rich_console

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

SHOWN_AFTER_S = 1.0


class Progress:
    """How far some work has come; ``total`` is in any unit, None where it is not known."""

    def __init__(self, label: str, total: float | None, screen: Screen) -> None:
        """Show nothing yet; ``screen`` says what standard error is."""
        self._label = label
        self._total = total
        self._screen = screen
        self._silent = not screen.terminal or not LOGGER.isEnabledFor(logging.WARNING)
        self._started_s = time.monotonic()
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def update(self, done: float) -> None:
        """Say that ``done`` of the total is over. Cheap enough to call for every batch."""
        if self._silent:
            return
        if self._bar is None:
            if time.monotonic() - self._started_s < SHOWN_AFTER_S:
                return
            self._show()
        assert self._bar is not None
        assert self._task is not None
        self._bar.update(self._task, completed=done)

    def _show(self) -> None:
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=rich_console(sys.stderr, self._screen),
            transient=True,  # the report below it is what stays
        )
        self._task = self._bar.add_task(self._label, total=self._total)
        self._bar.start()

    def close(self) -> None:
        """Take the bar away, if there is one."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
            self._silent = True


@contextmanager
def progress(label: str, total: float | None, screen: Screen | None = None) -> Iterator[Progress]:
    """Show the progress of a block of work while it runs."""
    shown = Progress(label, total, screen or Screen.of(sys.stderr))
    try:
        yield shown
    finally:
        shown.close()
