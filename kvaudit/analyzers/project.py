"""The audited project as readers see it: other files, found by the names prompts use."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from kvaudit.analyzers.decode import Undecodable, decode, read_bytes
from kvaudit.analyzers.mentions import Mentions
from kvaudit.core.document import Origin
from kvaudit.core.sources import Source

_ROOT_MARKS = ("pyproject.toml", "package.json", "go.mod", "Cargo.toml", "kvaudit.toml")


class FolderProject:
    """A project on disk. Reads each file at most once; never looks outside its root."""

    def __init__(
        self, root: Path, variables: Mapping[str, Origin], names: Mapping[str, str] | None = None
    ) -> None:
        """Take the folder above which nothing belongs to the project.

        ``names`` are the linted files, real path to the name they are reported by, so that a
        file has one name whichever way it is met.
        """
        self.root = root.resolve()
        self.variables = variables
        self._names = names or {}
        self._sources: dict[str, Source | None] = {}
        self._modules: dict[tuple[Path, str], Source | None] = {}
        self._folders: dict[str, Path] = {}
        self._mentions = Mentions(self.root)

    def sibling(self, source: Source, name: str) -> Source | None:
        """Return the file that ``source`` refers to by a relative name or a template name."""
        folder = self._folder(source)
        while folder.is_relative_to(self.root):
            found = self._read(folder / name)
            if found is not None or folder == self.root:
                return found
            folder = folder.parent
        return None

    def folder(self, source: Source, name: str, ending: str) -> Sequence[Source]:
        """Return the files of a folder that ``source`` refers to by a relative name, by ending."""
        folder = self._folder(source)
        while folder.is_relative_to(self.root):
            place = folder / name
            if place.is_dir() and place.resolve().is_relative_to(self.root):
                paths = sorted(path for path in place.iterdir() if path.name.endswith(ending))
                return [found for path in paths if (found := self._read(path)) is not None]
            if folder == self.root:
                break
            folder = folder.parent
        return ()

    def module(self, source: Source, dotted: str) -> Source | None:
        """Return the file of the Python module that ``source`` imports as ``dotted``."""
        key = (self._folder(source), dotted)
        if key not in self._modules:
            self._modules[key] = self._found(*key)
        return self._modules[key]

    def mentions(self, source: Source, name: str, *, elsewhere: bool = False) -> bool:
        """Whether Python code of the project, tests left out, names a function of ``source``."""
        return self._mentions.has(
            name, self._folder(source) / Path(source.path).name if elsewhere else None
        )

    def _found(self, folder: Path, dotted: str) -> Source | None:
        levels = len(dotted) - len(dotted.lstrip("."))
        parts = [part for part in dotted.split(".") if part]
        if levels:
            for _ in range(levels - 1):
                folder = folder.parent
            return self._module_in(folder, parts)
        while folder.is_relative_to(self.root):
            found = self._module_in(folder, parts)
            if found is not None or folder == self.root:
                return found
            folder = folder.parent
        return None

    def _folder(self, source: Source) -> Path:
        if source.path not in self._folders:
            self._folders[source.path] = Path(source.path).resolve().parent
        return self._folders[source.path]

    def _module_in(self, folder: Path, parts: list[str]) -> Source | None:
        path = folder.joinpath(*parts)
        return self._read(path.with_name(f"{path.name}.py")) or self._read(path / "__init__.py")

    def _read(self, path: Path) -> Source | None:
        key = str(path)
        if key not in self._sources:
            # Most names are of no file, and what is none needs no further look.
            self._sources[key] = self._resolved(path) if os.path.isfile(key) else None
        return self._sources[key]

    def _resolved(self, path: Path) -> Source | None:
        """Return the file itself, the same one by whatever name or link it was met."""
        real = Path(os.path.realpath(path))
        if str(real) not in self._sources:
            self._sources[str(real)] = self._loaded(real)
        return self._sources[str(real)]

    def _loaded(self, path: Path) -> Source | None:
        try:
            if not path.is_relative_to(self.root):
                return None
            text = decode(read_bytes(path)).text
        except (OSError, Undecodable, ValueError):
            return None
        return Source(self._names.get(str(path)) or shown(path), text)

    def relative(self, source: Source) -> str:
        """Return a file's path within the project, or its own where it lies elsewhere."""
        path = Path(os.path.abspath(source.path))
        for place in (path, path.resolve()):
            if place.is_relative_to(self.root):
                return place.relative_to(self.root).as_posix()
        return path.name


def project_root(path: Path) -> Path:
    """Return the folder of the project a path belongs to.

    That is its repository, so that a package of a monorepo sees the others, whichever of them a
    call names; outside a repository, the nearest folder with a project's file.
    """
    repository = repository_root(path)
    if repository is not None:
        return repository
    places = _upward(path)
    for folder in places:
        if any((folder / mark).exists() for mark in _ROOT_MARKS):
            return folder
    return places[0]


def repository_root(path: Path) -> Path | None:
    """Return the root of the git checkout a path belongs to, if it belongs to one."""
    return next((folder for folder in _upward(path) if (folder / ".git").exists()), None)


def _upward(path: Path) -> tuple[Path, ...]:
    """Return a path, if it is a folder, and all folders above it."""
    start = path.resolve()
    start = start if start.is_dir() else start.parent
    return (start, *start.parents)


def shown(path: Path) -> str:
    """Return a path as a user would write it: from the current folder, with slashes."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()
