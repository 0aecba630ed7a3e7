"""Which file an import names: beside it, by an alias, or in another package of the project."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from posixpath import normpath

from kvaudit.analyzers.reader import Project
from kvaudit.core.sources import Source

_ALIASES = ("@/", "~/", "src/", "#")
"""What projects call their own folder of sources, where nothing says so."""
_CONFIGS = ("tsconfig.json", "jsconfig.json")
_PACKAGES = ("packages", "libs", "apps")
"""Folders in which a repository of several packages keeps them."""
_COMMENTS = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r",(?=\s*[}\]])")


def linked(project: Project, source: Source, path: str) -> Iterator[str]:
    """Yield where the file of an import may lie, as seen from the file that imports it."""
    if path.startswith("."):
        yield path
        return
    if "/" not in path and not path.startswith(("#", "@", "~")):
        return
    for name in _CONFIGS:
        config = project.sibling(source, name)
        if config is not None:
            yield from _aliased(config.text, path)
    if path.startswith(_ALIASES):
        yield path.split("/", 1)[-1] if path.startswith(("@", "~")) else path.lstrip("#")
    elif path.startswith("@"):
        yield from _in_package(project, source, path)


def _aliased(config: str, path: str) -> Iterator[str]:
    """Yield what the ``paths`` of a configuration make of an import.

    They are looked up from the folder of the importing file upwards, as any name is.
    """
    for pattern, targets in _paths(config).items():
        before, star, behind = pattern.partition("*")
        if path == pattern or (star and path.startswith(before) and path.endswith(behind)):
            middle = path[len(before) : len(path) - len(behind)] if star else ""
            for target in targets:
                yield normpath(target.replace("*", middle))


@lru_cache(maxsize=64)
def _paths(config: str) -> Mapping[str, Sequence[str]]:
    plain = _COMMENTS.sub(lambda found: found[0] if found[0][0] == '"' else "", config)
    try:
        options = json.loads(_LAST_COMMA.sub("", plain))["compilerOptions"]
        base = str(options.get("baseUrl", "."))
        return {
            str(alias): [f"{base}/{target}" for target in targets]
            for alias, targets in options["paths"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def _in_package(project: Project, source: Source, path: str) -> Iterator[str]:
    """Yield the sources of a package that lies in the same repository under its own name."""
    scope, _, rest = path.partition("/")
    name, _, inner = rest.partition("/")
    for folder in _PACKAGES:
        manifest = project.sibling(source, f"{folder}/{name}/package.json")
        if manifest is not None and f'"{scope}/{name}"' in manifest.text:
            yield f"{folder}/{name}/src/{inner or 'index'}"
            if inner:
                yield f"{folder}/{name}/{inner}"
