"""The log formats, found by folder: a format is there when its module is."""

import importlib
import pkgutil
from functools import cache

from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean
from kvaudit.logs import formats as folder
from kvaudit.logs.format import LogFormat


@cache
def all_formats() -> tuple[LogFormat, ...]:
    """Return every format, by name.

    A module that fails to import or defines no ``FORMAT`` is a bug of kvaudit and raises: a
    format that silently went missing would change how other logs are recognised.
    """
    found = [
        importlib.import_module(f"{folder.__name__}.{module.name}").FORMAT
        for module in pkgutil.iter_modules(folder.__path__)
    ]
    by_name = {log_format.name: log_format for log_format in found}
    assert len(by_name) == len(found), "two log formats have the same name"
    return tuple(by_name[name] for name in sorted(by_name))


def find_format(name: str) -> LogFormat:
    """Return the format called ``name``; raises `UsageError` that names the nearest ones."""
    known = {log_format.name: log_format for log_format in all_formats()}
    if name in known:
        return known[name]
    hint = did_you_mean(name, known) or f"; known: {', '.join(sorted(known))}"
    raise UsageError(f"--input-format {name}: there is no such log format{hint}")
