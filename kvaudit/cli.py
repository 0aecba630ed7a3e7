"""Joins the commands and turns errors into exit codes; has no options of its own."""

import sys

import typer

from kvaudit.core.errors import Exit, KvauditError

app = typer.Typer(no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False)


@app.callback()
def kvaudit() -> None:
    """Audit the prefix cache and the semantic cache in front of a language model."""


def main() -> None:
    """Run the command line and exit."""
    try:
        app()
    except KvauditError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(Exit.ERROR)
    except Exception:
        # Python's own code for a crash is 1, which here would read as "findings".
        sys.excepthook(*sys.exc_info())
        sys.exit(Exit.ERROR)
