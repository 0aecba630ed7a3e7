"""Where results go: standard output in one format, and any number of files.

A file is written beside its target and then renamed, so that a reader never sees half of it
and a failed run leaves an old file as it was.
"""

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO

from kvaudit.core.errors import UsageError
from kvaudit.core.nearest import did_you_mean


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
    targets: dict[Path, Target] = {}
    for value in values:
        kind, colon, name = value.partition(":")
        if not colon or not name:
            raise UsageError(f"--output {value}: write it as KIND:PATH, such as json:run.json")
        check_format(kind, known, option=f"--output {value}")
        path = Path(name)
        check_writable(path, option="--output")
        if path in targets:
            raise UsageError(f"--output names {path} twice; give each its own file")
        targets[path] = Target(kind, path)
    return list(targets.values())


def check_writable(path: Path, *, option: str) -> None:
    """Raise `UsageError` if a file at ``path`` could not be written."""
    if path.is_dir():
        raise UsageError(f"{option}: {path} is a folder; name a file")
    folder = path.parent
    if not folder.is_dir():
        raise UsageError(f"{option}: the folder {folder} does not exist; make it first")
    if not os.access(folder if not path.exists() else path, os.W_OK):
        raise UsageError(f"{option}: {path} cannot be written: no permission")


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
        yield target
        return
    place = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield place
        if mode is not None:
            place.chmod(stat.S_IMODE(mode))
        place.replace(target)
    finally:
        place.unlink(missing_ok=True)


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def write_outputs(targets: Sequence[Target], render: Callable[[str], str]) -> None:
    """Write every target; ``render`` makes the text of one kind."""
    for target in targets:
        with replacing(target.path) as file:
            file.write(render(target.kind).encode("utf-8", "backslashreplace"))
