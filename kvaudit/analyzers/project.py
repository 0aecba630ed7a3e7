"""The audited project as readers see it: other files, found by the names prompts use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kvaudit.core.document import Origin
from kvaudit.core.sources import Source

MAX_BYTES = 4 << 20
"""A larger file is no prompt and no module that builds one."""

_ROOT_MARKS = (".git", "pyproject.toml", "package.json", "go.mod", "Cargo.toml", "kvaudit.toml")


class FolderProject:
    """A project on disk. Reads each file at most once; never looks outside its root."""

    def __init__(self, root: Path, variables: Mapping[str, Origin]) -> None:
        """Take the folder above which nothing belongs to the project."""
        self.root = root.resolve()
        self.variables = variables
        self._sources: dict[Path, Source | None] = {}

    def sibling(self, source: Source, name: str) -> Source | None:
        """Return the file that ``source`` refers to by a relative name or a template name."""
        folder = Path(source.path).resolve().parent
        while folder.is_relative_to(self.root):
            found = self._read(folder / name)
            if found is not None or folder == self.root:
                return found
            folder = folder.parent
        return None

    def module(self, source: Source, dotted: str) -> Source | None:
        """Return the file of the Python module that ``source`` imports as ``dotted``."""
        levels = len(dotted) - len(dotted.lstrip("."))
        parts = [part for part in dotted.split(".") if part]
        folder = Path(source.path).resolve().parent
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

    def _module_in(self, folder: Path, parts: list[str]) -> Source | None:
        path = folder.joinpath(*parts)
        return self._read(path.with_name(f"{path.name}.py")) or self._read(path / "__init__.py")

    def _read(self, path: Path) -> Source | None:
        path = Path(path.resolve())
        if path not in self._sources:
            self._sources[path] = self._loaded(path)
        return self._sources[path]

    def _loaded(self, path: Path) -> Source | None:
        try:
            if not path.is_relative_to(self.root) or not path.is_file():
                return None
            if path.stat().st_size > MAX_BYTES:
                return None
            text = path.read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError, ValueError):
            return None
        return Source(shown(path), text)


def project_root(path: Path) -> Path:
    """Return the folder of the project a path belongs to: the nearest one that looks like it."""
    start = path.resolve()
    start = start if start.is_dir() else start.parent
    for folder in (start, *start.parents):
        if any((folder / mark).exists() for mark in _ROOT_MARKS):
            return folder
    return start


def shown(path: Path) -> str:
    """Return a path as a user would write it: from the current folder, with slashes."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()
