"""From a finished report to text, in any of the formats of this package.

A format is one module in ``kvaudit/report/formats``; its file name is what ``--format`` and
``--output`` take. It defines ``replay(report, screen)``, ``sweep(report, screen)`` or
``lint(result, screen)``, or several, and reads `kvaudit.core` only.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from kvaudit.core.console import Screen
from kvaudit.core.redact import mask_secrets
from kvaudit.report import formats

T = TypeVar("T")


def format_names(command: str = "replay") -> list[str]:
    """Return the formats a command's result can be printed in, without importing any."""
    return sorted(
        module.name
        for module in pkgutil.iter_modules(formats.__path__)
        if f"\ndef {command}(" in Path(formats.__path__[0], f"{module.name}.py").read_text("utf-8")
    )


def render(kind: str, result: object, format_name: str, screen: Screen | None = None) -> str:
    """Return a result in one format, credentials masked, ending in a newline.

    ``kind`` names the function of the format that prints it: ``replay``, ``lint``, ``why``.
    """
    module = importlib.import_module(f"kvaudit.report.formats.{format_name}")
    shown = result if getattr(result, "masked_by_formats", False) else masked(result)
    text: str = getattr(module, kind)(shown, screen or Screen())
    return text


def masked(value: T) -> T:
    """Return a copy of a report in which every text has its credentials masked."""
    result: Any = value
    if isinstance(value, str):
        result = mask_secrets(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: masked(getattr(value, f.name)) for f in dataclasses.fields(value)}
        result = dataclasses.replace(value, **parts)
    elif isinstance(value, Mapping):
        # A mapping's order is how it was filled; here it becomes the order of its words.
        result = {masked(key): masked(value[key]) for key in sorted(value)}
    elif isinstance(value, list | tuple) and value and not isinstance(value[0], tuple):
        result = tuple(masked(item) for item in value)
    return result  # type: ignore[no-any-return]
