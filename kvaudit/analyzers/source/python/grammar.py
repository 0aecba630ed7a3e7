"""Whether a text is Python as the interpreter that runs the linter knows it, and its tree."""

from __future__ import annotations

import ast
import sys
import warnings

from kvaudit.analyzers.reader import Unreadable

_BOM = "\ufeff"


def parse(text: str) -> ast.Module:
    """Return the tree of a text. Raises `Unreadable` with the line and what is wrong there."""
    try:
        with warnings.catch_warnings():
            # Escapes that are no escapes are the business of other linters.
            warnings.simplefilter("ignore")
            return ast.parse(text.removeprefix(_BOM))
    except SyntaxError as error:
        raise Unreadable(_reason(error)) from None
    except (ValueError, MemoryError, RecursionError) as error:
        raise Unreadable(f"it does not parse as Python: {error}") from None


def check_grammar(text: str) -> None:
    """Raise `Unreadable` for a text that is no Python.

    Compiling makes no objects of the nodes, so it takes less than parsing. It refuses more, such
    as a ``return`` outside of a function; whether that is all is for the parser to say.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text.removeprefix(_BOM), "<linted>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        parse(text)


def _reason(error: SyntaxError) -> str:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return (
        f"it does not parse as Python {version}: {error.msg}, line {error.lineno}; "
        "run kvaudit on the Python that the code is written for"
    )
