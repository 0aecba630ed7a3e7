"""Largest sizes of what a template makes: joined text, padding, values that are written out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jinja2
import jinja2.filters
from jinja2 import nodes
from jinja2.exceptions import SecurityError

from kvaudit.tokens.jinja_sandbox import tojson

MAX_CHARS = 1 << 20
"""What one rendering, or one value on the way, may hold."""
MAX_NUMBER = 1_000
"""The largest number that what pads or indents may be given."""

TEXT_METHODS = frozenset(
    {"strip", "lstrip", "rstrip", "split", "rsplit", "splitlines", "startswith", "endswith"}
    | {"upper", "lower", "title", "capitalize", "replace", "join", "find", "rfind", "index"}
    | {"count", "removeprefix", "removesuffix", "partition", "rpartition", "ljust", "rjust"}
    | {"isdigit", "isalpha", "isalnum", "isspace", "isupper", "islower", "isnumeric", "zfill"}
)
"""Methods of text whose result has a bounded size, once the arguments are checked."""


def check_method(text: str, name: str, args: tuple[Any, ...]) -> None:
    """Raise `SecurityError` where a text method would make too much of its arguments."""
    if any(isinstance(argument, int) and abs(argument) > MAX_NUMBER for argument in args):
        raise SecurityError(f"{name} is given a number above {MAX_NUMBER}")
    if name == "replace" and len(args) >= 2:
        check_size((text.count(args[0]) + 1) * len(args[1]) + len(text))
    if name == "join" and args:
        _check_joined(args[0], text)


def _tojson(value: Any, **options: Any) -> str:
    weigh(value)
    if int(options.get("indent") or 0) > 16:
        raise SecurityError("tojson is given an indent above 16")
    return tojson(value, **options)


def _replace(value: Any, old: str, new: str, count: int | None = None) -> str:
    text = str(value)
    check_size((text.count(old) + 1) * len(new) + len(text))
    return text.replace(old, new, -1 if count is None else count)


@jinja2.pass_eval_context
def _join(context: nodes.EvalContext, value: Any, d: str = "", attribute: Any = None) -> str:
    parts = list(value)
    _check_joined(parts, d)
    return str(jinja2.filters.sync_do_join(context, parts, d, attribute))


def _check_joined(parts: Any, between: str) -> None:
    if not isinstance(parts, list | tuple):
        raise SecurityError("join is given something other than a list")
    check_size(len(parts) * len(str(between)))
    weigh(parts)


def _indent(value: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    each = len(width) if isinstance(width, str) else width
    if each > MAX_NUMBER:
        raise SecurityError(f"indent is given a number above {MAX_NUMBER}")
    check_size(len(value) + value.count("\n") * each)
    return jinja2.filters.do_indent(value, width, first, blank)


def weigh(value: Any, left: int = MAX_CHARS) -> int:
    """Return what is left of a budget of characters once a value is written out."""
    if isinstance(value, str):
        left -= len(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            left = weigh(item, weigh(key, left))
    elif isinstance(value, list | tuple):
        for item in value:
            left = weigh(item, left - 1)
    else:
        left -= 1
    if left < 0:
        raise SecurityError(f"makes a value of more than {MAX_CHARS} characters")
    return left


def check_size(size: int) -> None:
    """Raise `SecurityError` for more characters than a value may have."""
    if size > MAX_CHARS:
        raise SecurityError(f"makes a value of more than {MAX_CHARS} characters")


FILTERS = {"tojson": _tojson, "replace": _replace, "join": _join, "indent": _indent}
"""Filters that check sizes, in place of jinja2's."""
