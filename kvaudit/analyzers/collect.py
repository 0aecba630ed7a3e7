"""Which files are linted: those a reader takes, and that the user has not set aside.

A file that a call names is always looked at. Below a folder these are left out: what git ignores,
what the configuration excludes, folders of other people's or generated code, and symbolic links.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from pathspec import GitIgnoreSpec

from kvaudit.analyzers.foreign import NOT_OURS
from kvaudit.analyzers.project import project_root
from kvaudit.analyzers.reader import is_called
from kvaudit.core.errors import InputError

_NOT_WRITTEN = (".min.js", ".min.mjs", ".bundle.js", "_pb2.py", "_pb2_grpc.py", ".d.ts", ".map")
_LOCK_FILES = frozenset(
    ("package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "uv.lock")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file that is to be linted."""

    path: Path
    name: str
    """The path as it is reported: as the user gave it, with forward slashes."""
    root: Path
    """The project it belongs to."""
    named: bool
    """Whether the user says that it is to be linted, in the call or by a pattern.

    With ``force_exclude`` the names in a call come from a program, such as pre-commit, which
    knows nothing of what they hold.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What of a folder is looked at."""

    endings: Sequence[str]
    """Ends of file names, in lower case, that a reader takes."""
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    force_exclude: bool = False
    folder: Path = field(default_factory=Path.cwd)
    """Where the patterns are meant from."""


def find_files(paths: Sequence[Path], selection: Selection) -> list[Found]:
    """Return the files below ``paths``, by name, each of them once.

    Raises `InputError` for a path that does not exist.
    """
    patterns = _Patterns(selection)
    found: dict[str, Found] = {}
    for path in paths:
        if not path.exists():
            raise InputError(f"{path} does not exist; give files or folders that do")
        named = not path.is_dir()
        for file in _named(path, patterns) if named else _walk(path, patterns):
            found.setdefault(os.path.realpath(file.path), file)
    return sorted(found.values(), key=lambda file: file.name)


def _named(path: Path, patterns: _Patterns) -> Iterator[Found]:
    if patterns.force and patterns.excluded(_absolute(path)):
        return
    yield Found(
        path=path,
        name=path.as_posix(),
        root=_root(_absolute(path).parent),
        named=not patterns.force,
    )


def _walk(top: Path, patterns: _Patterns) -> Iterator[Found]:
    """Yield the files below a folder; a folder that git ignores is walked if it was named."""
    place = _absolute(top)
    root = _root(place)
    open_folders = [(top, place, Ignored.above(place))]
    while open_folders:
        folder, absolute, ignored = open_folders.pop()
        ignored = ignored.below(absolute)
        try:
            entries = sorted(os.scandir(absolute), key=lambda entry: entry.name)
        except OSError:
            # Reading the folder as a file fails in the same way, and that is then the reason
            # by which it is listed as skipped: nothing unread may look clean.
            yield Found(path=folder, name=folder.as_posix(), root=root, named=False)
            continue
        for entry in entries:
            path = absolute / entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in NOT_OURS and not (
                    ignored.has(path, folder=True) or patterns.excluded(path, folder=True)
                ):
                    open_folders.append((folder / entry.name, path, ignored))
            elif (
                entry.is_file(follow_symlinks=False)
                and patterns.wanted(path)
                and not ignored.has(path)
            ):
                name = folder / entry.name
                yield Found(path=name, name=name.as_posix(), root=root, named=patterns.includes)


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))


@cache
def _root(folder: Path) -> Path:
    return project_root(folder)


class _Patterns:
    """The patterns of a `Selection`, ready for use."""

    def __init__(self, selection: Selection) -> None:
        self.force = selection.force_exclude
        self._folder = _absolute(selection.folder)
        self._endings = tuple(selection.endings)
        self._exclude = GitIgnoreSpec.from_lines(selection.exclude)
        self._include = (
            GitIgnoreSpec.from_lines(selection.include).match_file if selection.include else None
        )

    @property
    def includes(self) -> bool:
        """Whether files are looked at because the user says so, whatever they are called."""
        return self._include is not None

    def excluded(self, path: Path, *, folder: bool = False) -> bool:
        name = self._relative(path)
        return name is not None and self._exclude.match_file(f"{name}/" if folder else name)

    def wanted(self, path: Path) -> bool:
        """Whether a file is looked at: named by a pattern, or else one a reader takes."""
        if self.excluded(path):
            return False
        if self._include is not None:
            name = self._relative(path)
            return name is not None and self._include(name)
        lower = path.name.lower()
        return (
            is_called(lower, self._endings)
            and not lower.endswith(_NOT_WRITTEN)
            and lower not in _LOCK_FILES
        )

    def _relative(self, path: Path) -> str | None:
        """Return a path as the patterns see it; None where it lies elsewhere."""
        name = os.path.relpath(path, self._folder).replace(os.sep, "/")
        return None if name.startswith("../") else name


@dataclass(frozen=True, slots=True)
class Ignored:
    """What the .gitignore files from a repository's root down to a folder say."""

    specs: tuple[tuple[Path, GitIgnoreSpec], ...]

    @classmethod
    def above(cls, folder: Path) -> Ignored:
        """Return what holds in a folder by the files above it, unless it is ignored itself."""
        above: list[Path] = []
        for place in (folder, *folder.parents):
            if (place / ".git").exists():
                above = list(folder.parents)[: len(folder.parts) - len(place.parts)]
                break
        ignored = cls(())
        if above or (folder / ".git").exists():
            root = above[-1] if above else folder
            ignored = ignored._with(root, root / ".git" / "info" / "exclude")
        for place in reversed(above):
            ignored = ignored.below(place)
        return cls(()) if ignored.has(folder, folder=True) else ignored

    def below(self, folder: Path) -> Ignored:
        """Return this with a folder's own .gitignore."""
        return self._with(folder, folder / ".gitignore")

    def _with(self, base: Path, file: Path) -> Ignored:
        try:
            lines = file.read_text("utf-8", "replace").splitlines()
        except OSError:
            return self
        return Ignored((*self.specs, (base, GitIgnoreSpec.from_lines(lines))))

    def has(self, path: Path, *, folder: bool = False) -> bool:
        """Whether git ignores a path; the nearest file that speaks of it decides."""
        for base, spec in reversed(self.specs):
            if not path.is_relative_to(base):
                continue
            name = path.relative_to(base).as_posix()
            said = spec.check_file(f"{name}/" if folder else name).include
            if said is not None:
                return said
        return False
