"""Joins the commands and turns errors into exit codes; has no options of its own."""

import contextlib
import importlib
import os
import re
import signal
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from kvaudit import __version__
from kvaudit.core.console import is_verbose
from kvaudit.core.errors import Exit, KvauditError
from kvaudit.core.nearest import did_you_mean
from kvaudit.core.output import DISK_ERRORS
from kvaudit.core.redact import one_line

COMMANDS = (
    "lint",
    "rule",
    "probe",
    "replay",
    "sweep",
    "why",
    "keys",
    "gate",
    "report",
    "calibrate",
    "convert",
    "demo",
    "doctor",
    "init",
    "schema",
)
"""Functions, each in the module of its name in ``kvaudit/commands``; in the order of the help."""

# Typer brings its own copy of click and names only this exception in public. Its parents are
# the usage error and the general one.
_UsageError: type[Any] = typer.BadParameter.__mro__[1]

INTERRUPTED = 130
"""What a shell reports for a program that Ctrl-C ended."""

_SETTINGS: dict[str, Any] = {
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


class _Commands(TyperGroup):
    """The commands, each imported when it is called: together they would double lint's start."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"kvaudit.commands.{cmd_name}")
        alone = typer.Typer(add_completion=False, **_SETTINGS)
        alone.command()(getattr(module, cmd_name))
        return typer.main.get_command(alone)


app = typer.Typer(cls=_Commands, no_args_is_help=True, **_SETTINGS)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"kvaudit {__version__}")
        raise typer.Exit


@app.callback()
def kvaudit(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Audit the prefix cache and the semantic cache in front of a language model."""


def main() -> None:
    """Run the command line and exit."""
    _open_streams()
    # What is half written is removed on the way out, as it is after Ctrl-C.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    # A name or path may hold what the terminal's encoding cannot; it is escaped, not a crash.
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(run())


def _open_streams() -> None:
    """Give a closed standard stream the null device, or the next file would get its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def run(args: Sequence[str] | None = None) -> int:
    """Run one command line, the process's own by default, and return its exit code."""
    try:
        code = app(args, prog_name="kvaudit", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()  # so that a full disk is noticed here, not after the exit code
        return int(code or Exit.OK)
    except KvauditError as error:
        return _fail(str(error))
    except _UsageError as error:
        return _usage(error)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except SystemExit as error:
        # Typer ends with 1, which here would read as "findings", when a pipe's reader is gone.
        if isinstance(error.__context__, BrokenPipeError):
            return _reader_left()
        raise
    except BrokenPipeError:
        return _reader_left()
    except OSError as error:
        if error.errno in DISK_ERRORS:
            _drop_output()
            return _fail(_os_error(error))
        return _crashed(error)
    except Exception as error:
        # Python's own code for a crash is 1, which here would read as "findings".
        return _crashed(error)


def _fail(message: str) -> int:
    # A path or an option may come from a stranger's file name, and the terminal would obey it.
    print(f"error: {one_line(message)}", file=sys.stderr)
    return Exit.ERROR


def _usage(error: Any) -> int:
    """Say what is wrong with the call, and where help is."""
    if type(error).__name__ == "NoArgsIsHelpError":  # the help was printed when it was made
        return Exit.ERROR
    path = error.ctx.command_path if error.ctx is not None else "kvaudit"
    print(f"error: {one_line(_usage_message(error, path))}\nhelp: {path} --help", file=sys.stderr)
    return Exit.ERROR


def _usage_message(error: Any, path: str) -> str:
    option = getattr(error, "option_name", None)
    if option is not None and hasattr(error, "possibilities"):
        names = [name for param in error.ctx.command.get_params(error.ctx) for name in param.opts]
        known = [name for name in names if name.startswith("--")]
        return f"{path} has no option {option}{did_you_mean(option, known)}"
    unknown = re.match(r"No such command '(.*?)'", error.message)
    if unknown is not None:
        known = error.ctx.command.list_commands(error.ctx)
        return f"{path} has no command {unknown[1]}{did_you_mean(unknown[1], known)}"
    # Typer spreads a list of choices over lines, and repeats pydantic's own prefix.
    message = " ".join(error.format_message().replace("Value error, ", "").split()).rstrip(".")
    return message[:1].lower() + message[1:]


def _reader_left() -> int:
    """End quietly when the reader of a pipe has seen enough, as with ``| head``."""
    _drop_output()
    return Exit.OK


def _drop_output() -> None:
    """Give what is left in standard output somewhere to go: Python flushes it at exit."""
    with contextlib.suppress(OSError, ValueError):  # it may be closed, or no file at all
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _os_error(error: OSError) -> str:
    place = error.filename or "the output"
    return f"{place} could not be written: {error.strerror or error}"


def _crashed(error: Exception) -> int:
    if is_verbose():
        sys.excepthook(type(error), error, error.__traceback__)
    return _fail(
        f"kvaudit crashed, which is a bug of it and not of your files: "
        f"{type(error).__name__}: {error}; run again with -v for the traceback"
    )
