"""The process in which a prompt builder is called; started by `kvaudit.analyzers.probe.builder`.

It runs the code that the user named, with the clock and the random numbers that it is told to
use, and writes what the builder returned to a file: standard output belongs to the builder.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from kvaudit.analyzers.probe.clock import set_clock


def main() -> None:
    """Read what to call from standard input, and write the texts it gave to a file."""
    asked = json.load(sys.stdin)
    sys.path[:] = asked["path"]
    answer: dict[str, Any]
    try:
        set_clock(asked["clock_s"])
        _set_random(asked["seed"])
        builder = _builder(asked["module"], asked["function"], asked["file"])
        texts = []
        for _ in range(asked["calls"]):
            # Each call draws the same numbers, so that a second one differs only by a state.
            _set_random(asked["seed"])
            texts.append(as_text(_result(builder, asked["args"], asked["kwargs"])))
        answer = {"texts": texts}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    Path(asked["answer"]).write_text(json.dumps(answer), "utf-8")


def as_text(value: Any) -> str:
    """Return a prompt as one text: messages and other structures as JSON, in their own order."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return json.dumps(value, ensure_ascii=False, indent=1, default=_plain)


def _plain(value: Any) -> Any:
    for method in ("model_dump", "dict", "to_dict"):
        if callable(made := getattr(value, method, None)):
            return made()
    return list(value) if isinstance(value, set | frozenset | tuple) else str(value)


def _result(builder: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    given = builder(*args, **kwargs)
    if inspect.iscoroutine(given):
        import asyncio

        return asyncio.run(given)
    return list(given) if inspect.isgenerator(given) else given


def _builder(module: str, function: str, file: str | None) -> Callable[..., Any]:
    """Import what was named; ``file`` is where it lies if its name alone does not lead there."""
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if file is None or error.name != module.partition(".")[0]:
            raise
        found = _from_file(module, file)
    for name in function.split("."):
        found = getattr(found, name)
    called: Callable[..., Any] = found
    return called


def _from_file(module: str, file: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(module, file)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"no module {module} in {file}", name=module)
    made = importlib.util.module_from_spec(spec)
    sys.modules[module] = made
    spec.loader.exec_module(made)
    return made


def _set_random(seed: int) -> None:
    """Let every source of random numbers follow a seed, the system's own included."""
    random.seed(seed)
    source = random.Random(seed)
    for module, name in ((os, "urandom"), (random, "_urandom")):
        setattr(module, name, source.randbytes)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
