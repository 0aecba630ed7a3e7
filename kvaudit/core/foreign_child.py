"""The process of a user's function; started by `kvaudit.core.foreign`.

One JSON line names the function, each further one holds the arguments of a call; each answer is
one JSON line. What the function prints goes to standard error: standard output is the answers', and
standard input the calls', of which the function sees nothing.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import json
import os
import sys
from typing import Any


def main() -> None:
    """Answer calls until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    calls = os.fdopen(os.dup(0), encoding="utf-8")
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - for as long as it lives
    os.dup2(sys.stdin.fileno(), 0)
    asked = json.loads(calls.readline())
    sys.path[:] = asked["path"]
    function: Any = None
    for line in calls:
        try:
            if function is None:
                function = _found(asked["module"], asked["function"], asked["file"])
            value = function(*json.loads(line))
            answer = {"value": _plain(asyncio.run(value) if inspect.iscoroutine(value) else value)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


def _found(module: str, function: str, file: str | None) -> Any:
    if file is not None:
        spec = importlib.util.spec_from_file_location("kvaudit_foreign", file)
        if spec is None or spec.loader is None:
            raise ImportError(f"{file} is no module of Python")
        found: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found)
    else:
        found = importlib.import_module(module)
    for name in function.split("."):
        found = getattr(found, name)
    return found


def _plain(value: Any) -> Any:
    """Return what JSON can hold; numbers of other libraries as numbers, bytes as text."""
    if isinstance(value, bytes):
        # Two digests must not become one text.
        return value.decode("utf-8", "surrogateescape")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    item = getattr(value, "item", None)
    if callable(item):
        return item()
    raise TypeError(f"gives {type(value).__name__}, and not a bool, a number or a text")
