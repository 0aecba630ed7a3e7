"""The terminal: its width, whether it is one, whether it takes colour, how loud to be.

Results go to standard output; progress, warnings and errors to standard error. Nothing else
in kvaudit asks the environment or the stream about these things.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TextIO

from kvaudit.core.redact import one_line

if TYPE_CHECKING:
    from rich.console import Console

WIDTH_WITHOUT_TERMINAL = 80
LOGGER = logging.getLogger("kvaudit")


class Color(StrEnum):
    """When to print in colour."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Screen:
    """What is known about the place a text is printed to."""

    width: int = WIDTH_WITHOUT_TERMINAL
    color: bool = False
    terminal: bool = False

    @classmethod
    def of(
        cls,
        stream: TextIO,
        color: Color = Color.AUTO,
        environ: Mapping[str, str] = os.environ,
    ) -> Screen:
        """Look at ``stream``; an explicit ``color`` wins over the environment.

        ``NO_COLOR`` and ``FORCE_COLOR`` count when they are set and not empty
        (no-color.org, force-color.org).
        """
        terminal = stream.isatty()
        if color is not Color.AUTO:
            colored = color is Color.ALWAYS
        elif environ.get("NO_COLOR"):
            colored = False
        elif environ.get("FORCE_COLOR"):
            colored = True
        else:
            colored = terminal and environ.get("TERM") != "dumb"
        return cls(_width(stream, terminal, environ), colored, terminal)


def _width(stream: TextIO, terminal: bool, environ: Mapping[str, str]) -> int:
    columns = environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    if terminal:
        try:
            # A terminal that does not know its size says 0.
            return os.get_terminal_size(stream.fileno()).columns or WIDTH_WITHOUT_TERMINAL
        except (OSError, ValueError):
            pass
    return WIDTH_WITHOUT_TERMINAL


def rich_console(stream: TextIO, screen: Screen) -> Console:
    """Return a rich console that obeys ``screen`` and changes no text on its own."""
    from rich.console import Console

    return Console(
        file=stream,
        width=screen.width,
        force_terminal=screen.color or screen.terminal,
        color_system="standard" if screen.color else None,
        no_color=not screen.color,
        highlight=False,
        markup=False,
        emoji=False,
    )


def set_verbosity(*, quiet: bool, verbose: bool) -> None:
    """Send kvaudit's log to standard error: warnings, with -v details, with -q errors only."""
    LOGGER.setLevel(logging.ERROR if quiet else logging.DEBUG if verbose else logging.WARNING)
    if not LOGGER.handlers:
        handler = _StderrHandler()
        handler.setFormatter(_SentenceFormatter())
        LOGGER.addHandler(handler)
        LOGGER.propagate = False


def is_verbose() -> bool:
    """Whether details were asked for, such as the traceback of a crash."""
    return LOGGER.isEnabledFor(logging.DEBUG)


class _StderrHandler(logging.StreamHandler[TextIO]):
    """Looks standard error up at each record, since a progress bar replaces it for a while."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        import sys

        return sys.stderr


class _SentenceFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"{record.levelname.lower()}: {one_line(record.getMessage())}"
