"""Parameters of a function, as its head writes them."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def named_parameters(arguments: ast.arguments) -> list[ast.arg]:
    """Return the parameters that stand for one value each: all but ``*args`` and ``**kwargs``."""
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def parameters_by_place(arguments: ast.arguments) -> list[ast.arg]:
    """Return the parameters that a call may fill by their place."""
    return [*arguments.posonlyargs, *arguments.args]


def with_defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr]]:
    """Yield the parameters that have a default, with it."""
    by_place = parameters_by_place(arguments)
    last = by_place[len(by_place) - len(arguments.defaults) :]
    yield from zip(last, arguments.defaults, strict=True)
    for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            yield arg, default
