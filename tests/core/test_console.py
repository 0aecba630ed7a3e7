"""What is found out about the terminal, and how loud kvaudit is."""

import io
from contextlib import ExitStack

import pytest

from kvaudit.core.console import LOGGER, Color, Screen, is_verbose, rich_console, set_verbosity
from kvaudit.core.progress import progress

SHOW_CURSOR = "\x1b[?25h"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def logger():
    """Give the logger back as it was."""
    state = LOGGER.level, LOGGER.propagate, list(LOGGER.handlers)
    yield LOGGER
    LOGGER.setLevel(state[0])
    LOGGER.propagate = state[1]
    LOGGER.handlers[:] = state[2]


@pytest.mark.parametrize(
    ("stream", "color", "environ", "colored"),
    [
        (Terminal(), Color.AUTO, {}, True),
        (io.StringIO(), Color.AUTO, {}, False),
        (Terminal(), Color.AUTO, {"NO_COLOR": "1"}, False),
        (Terminal(), Color.AUTO, {"NO_COLOR": ""}, True),
        (Terminal(), Color.AUTO, {"TERM": "dumb"}, False),
        (io.StringIO(), Color.AUTO, {"FORCE_COLOR": "1"}, True),
        (io.StringIO(), Color.AUTO, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (Terminal(), Color.ALWAYS, {"NO_COLOR": "1"}, True),
        (Terminal(), Color.NEVER, {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colour(stream, color, environ, colored):
    assert Screen.of(stream, color, environ).color is colored


@pytest.mark.parametrize(
    ("columns", "width"), [("", 80), ("123", 123), ("0", 80), ("wide", 80), ("-5", 80)]
)
def test_width(columns, width):
    assert Screen.of(io.StringIO(), environ={"COLUMNS": columns}).width == width


def test_the_console_changes_no_text():
    file = io.StringIO()
    rich_console(file, Screen(color=True)).print("[bold]:smile: 12 'x'[/]")
    assert file.getvalue() == "[bold]:smile: 12 'x'[/]\n"


@pytest.mark.parametrize(
    ("quiet", "verbose", "heard"),
    [
        (False, False, ["warning: w", "error: e"]),
        (True, False, ["error: e"]),
        (False, True, ["debug: d", "warning: w", "error: e"]),
    ],
)
def test_how_loud(logger, capsys, quiet, verbose, heard):
    set_verbosity(quiet=quiet, verbose=verbose)
    set_verbosity(quiet=quiet, verbose=verbose)  # twice is not twice as loud
    logger.debug("d")
    logger.warning("w")
    logger.error("e")
    streams = capsys.readouterr()
    assert streams.err.splitlines() == heard
    assert streams.out == ""
    assert is_verbose() is verbose


def run_for(seconds, screen, monkeypatch):
    clock = iter([0.0, seconds / 2, seconds])
    monkeypatch.setattr("kvaudit.core.progress.time.monotonic", lambda: next(clock))
    with progress("reading", 2, screen) as bar:
        bar.update(1)
        bar.update(2)
    monkeypatch.undo()


def test_progress_is_shown_on_a_terminal_when_work_takes_long(logger, capsys, monkeypatch):
    set_verbosity(quiet=False, verbose=False)
    run_for(3.0, Screen(terminal=True), monkeypatch)
    streams = capsys.readouterr()
    assert "reading" in streams.err
    assert streams.out == ""


@pytest.mark.parametrize(
    ("seconds", "terminal", "quiet"), [(0.9, True, False), (9.0, False, False), (9.0, True, True)]
)
def test_progress_is_silent_when_short_piped_or_quiet(
    logger, capsys, monkeypatch, seconds, terminal, quiet
):
    set_verbosity(quiet=quiet, verbose=False)
    run_for(seconds, Screen(terminal=terminal), monkeypatch)
    assert capsys.readouterr().err == ""


def test_the_bar_goes_away_when_the_work_fails(logger, capsys, monkeypatch):
    set_verbosity(quiet=False, verbose=False)
    clock = iter([0.0, 5.0])
    monkeypatch.setattr("kvaudit.core.progress.time.monotonic", lambda: next(clock))
    bars = ExitStack()
    bar = bars.enter_context(progress("reading", 1, Screen(terminal=True)))
    bar.update(0.5)
    monkeypatch.undo()
    assert "reading" in capsys.readouterr().err
    bars.__exit__(ZeroDivisionError, None, None)
    assert SHOW_CURSOR in capsys.readouterr().err
