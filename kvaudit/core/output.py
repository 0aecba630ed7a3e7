"""Where results go: standard output in one format, and any number of files.

A file is written beside its target and then renamed, so that a reader never sees half of it
and a failed run leaves an old file as it was.
"""

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO

from kvaudit.core.console import LOGGER
from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean

DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF})
"""Failures of the place that is written to, and so no bug."""

_REFUSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENAMETOOLONG})
"""Answers to a new file that say that there can be none of that name."""

_STREAMS = {
    Path("-"): "stdout",
    Path("/dev/stdout"): "stdout",
    Path("/dev/fd/1"): "stdout",
    Path("/dev/stderr"): "stderr",
    Path("/dev/fd/2"): "stderr",
}
"""Names of the streams that are open already: a file behind one is appended to, not replaced."""


@dataclass(frozen=True, slots=True)
class Target:
    """One ``--output KIND:PATH``."""

    kind: str
    path: Path


def default_format(stream: TextIO, environ: Mapping[str, str] = os.environ) -> str:
    """Return the format for a place: GitHub Actions, a terminal, a pipe."""
    if environ.get("GITHUB_ACTIONS") == "true":
        return "github"
    return "full" if stream.isatty() else "concise"


def check_format(name: str, known: Sequence[str], *, option: str = "--format") -> str:
    """Return ``name`` if it is a known format."""
    if name not in known:
        raise UsageError(f"{option}: {name!r} is not a format{did_you_mean(name, known)}")
    return name


def parse_outputs(values: Sequence[str], known: Sequence[str]) -> list[Target]:
    """Read every ``--output``, and refuse what could not be written, before any work."""
    targets: list[Target] = []
    for value in values:
        kind, colon, name = value.partition(":")
        if not colon or not name:
            raise UsageError(f"--output {value}: write it as KIND:PATH, such as json:run.json")
        check_format(kind, known, option=f"--output {value}")
        path = Path(name)
        if path not in _STREAMS:
            check_writable(path, option="--output")
        targets.append(Target(kind, path))
    return targets


def check_writable(path: Path, *, option: str) -> None:
    """Raise `UsageError` if a file at ``path`` could not be written."""
    if path.is_dir():
        raise UsageError(f"{option}: {path} is a folder; name a file")
    folder = path.parent
    if not folder.is_dir():
        raise UsageError(f"{option}: the folder {folder} does not exist; make it first")
    if not os.access(folder if not path.exists() else path, os.W_OK):
        raise UsageError(f"{option}: {path} cannot be written: no permission")


def check_apart(outputs: Sequence[tuple[str, Path]], inputs: Sequence[Path] = ()) -> None:
    """Raise `UsageError` where two outputs share a file, or one is a file that is read.

    ``outputs`` are options and what they name. Devices and pipes may be named again.
    """
    read = {_place(path) for path in inputs if path not in _STREAMS} - {None}
    named: dict[object, str] = {}
    for option, path in outputs:
        place = _place(path)
        if place in read:
            raise UsageError(f"{option} {path} is one of the files to read; name another")
        if place in named:
            both = option if named[place] == option else f"{named[place]} and {option}"
            raise UsageError(f"{both}: {path} is named twice; give each its own file")
        if place is not None:
            named[place] = option


def _place(path: Path) -> object:
    """Return what two names of one file have in common, None for a device or a pipe."""
    if path in _STREAMS:
        return _STREAMS[path]
    try:
        found = path.stat()
    except OSError:
        return os.path.realpath(path)
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that takes the place of ``path`` once all went well."""
    with replacing_path(path) as place, place.open("wb") as file:
        yield file


@contextmanager
def replacing_path(path: Path) -> Iterator[Path]:
    """Yield a path to write to, and move what was written to ``path`` once all went well.

    A pipe or device is written to as it is: renaming would remove it.
    """
    target = Path(os.path.realpath(path))  # keep a symbolic link, replace what it points to
    mode = _mode(target)
    if mode is not None and not stat.S_ISREG(mode):
        with _named(path):
            yield target
        return
    place = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with _named(path):
            _create(place, path)
            yield place
        if mode is not None:
            place.chmod(stat.S_IMODE(mode))
        place.replace(target)
    finally:
        place.unlink(missing_ok=True)


def _create(place: Path, path: Path) -> None:
    """Begin the file that is to be renamed to ``path``.

    Some folders refuse what `os.access` allows, such as those of the kernel to root.
    """
    try:
        place.open("wb").close()
    except OSError as error:
        if error.errno not in _REFUSED:
            raise
        raise UsageError(f"{path} cannot be written: {error.strerror}; name another") from error


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Let an error of the disk say which file it was: writing, unlike opening, does not."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            error.filename = str(path)
        raise


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def append_summary(made: Callable[[], str], environ: Mapping[str, str] = os.environ) -> None:
    """Add a Markdown text to the summary of the job, where GitHub Actions names a file for it."""
    name = environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return
    try:
        with Path(name).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(made() + "\n")
    except OSError as error:
        # The verdict stands in the log and in the exit code; a summary is not worth another one.
        LOGGER.warning("GITHUB_STEP_SUMMARY %s cannot be written: %s", name, error.strerror)


def write_outputs(targets: Sequence[Target], render: Callable[[str], str]) -> None:
    """Write every target; ``render`` makes the text of one kind."""
    for target in targets:
        text = render(target.kind)
        if target.path in _STREAMS:
            getattr(sys, _STREAMS[target.path]).write(text)
            continue
        with replacing(target.path) as file:
            file.write(text.encode("utf-8", "backslashreplace"))
