"""Files in, what was found in each out; many files are shared between processes.

The order of the result is that of the files, however the work was split.
"""

from __future__ import annotations

import gc
import os
import signal
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from kvaudit.analyzers.collect import Found
from kvaudit.analyzers.decode import Undecodable, decode, read_bytes
from kvaudit.analyzers.limit import SECONDS, TookTooLong, within
from kvaudit.analyzers.profile import Profile
from kvaudit.analyzers.project import FolderProject
from kvaudit.analyzers.run import Looked, look
from kvaudit.core.console import LOGGER
from kvaudit.core.document import Origin
from kvaudit.core.errors import KvauditError
from kvaudit.core.rulebook import Rule
from kvaudit.core.sources import Source

ALONE_UP_TO = 150
"""Fewer files are done before another process has started."""
CHUNK = 40
_THRESHOLDS = (100_000, 5, 3)
"""New objects after which Python looks for circles of garbage among them, such looks after which
it looks among older objects as well, and such looks after which it looks at all."""
NO_READER = "it is of no kind that kvaudit reads"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What holds for every file of a run."""

    rules: Sequence[Rule]
    profile: Profile
    variables: Mapping[str, Origin] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    """Real path of every linted file to the name it is reported by."""


def lint_files(found: Sequence[Found], task: Task, *, processes: int | None = None) -> list[Looked]:
    """Lint files in their order; one that no reader takes is left out."""
    workers = processes or _processors()
    if workers == 1 or (processes is None and len(found) <= ALONE_UP_TO):
        with _rare_collections():
            return _Worker(task).lint(found)
    from concurrent.futures import ProcessPoolExecutor

    # Small chunks, in which neighbours stay together: they share what readers look up.
    chunks = [found[at : at + CHUNK] for at in range(0, len(found), CHUNK)]
    with ProcessPoolExecutor(workers, initializer=_begin, initargs=(task,)) as pool:
        try:
            return list(chain.from_iterable(pool.map(_lint_chunk, chunks)))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # or it would all be done first
            raise


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Let Python look for circles of garbage more rarely, for as long as many files are parsed.

    Syntax trees are many small objects and hold no circles; looking through them again and again
    took a third of the time. What is found out of them holds some, so never to look would keep the
    tree of every file.
    """
    before = gc.get_threshold()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def lint_text(source: Source, root: Path, task: Task) -> Looked | None:
    """Lint a text that is in no file, such as standard input."""
    project = FolderProject(root, task.variables, task.names)
    return guarded(source, project, task, place=source.path, named=True)


def guarded(
    source: Source, project: FolderProject, task: Task, *, place: str, named: bool
) -> Looked | None:
    """Lint one text; a fault of kvaudit in it, or endless work, ends that file and no other."""
    try:
        with within():
            return look(source, project, task.rules, task.profile, place=place, named=named)
    except TookTooLong:
        return Looked(path=source.path, skipped=f"it took more than {SECONDS:g} s")
    except KvauditError:
        raise
    except Exception as error:
        LOGGER.debug("%s: %s", source.path, traceback.format_exc())
        crash = f"{type(error).__name__}: {error}"
        return Looked(path=source.path, skipped="kvaudit crashed on it", crash=crash)


class _Worker:
    """One process's share of a run: it reads each further file of a project once."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._projects: dict[Path, FolderProject] = {}

    def lint(self, found: Sequence[Found]) -> list[Looked]:
        return [seen for file in found if (seen := self._look(file)) is not None]

    def _look(self, file: Found) -> Looked | None:
        task = self._task
        try:
            source = Source(file.name, decode(read_bytes(file.path)).text)
        except Undecodable as reason:
            return Looked(path=file.name, skipped=str(reason))
        if file.root not in self._projects:
            self._projects[file.root] = FolderProject(file.root, task.variables, task.names)
        project = self._projects[file.root]
        place = project.relative(source)
        seen = guarded(source, project, task, place=place, named=file.named)
        if seen is None and file.named:
            return Looked(path=file.name, skipped=NO_READER)
        return seen


_worker: _Worker | None = None


def _begin(task: Task) -> None:
    global _worker
    # The parent's way to end, by an exception, is caught where workers wait for their next chunk.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.set_threshold(*_THRESHOLDS)
    _worker = _Worker(task)


def _lint_chunk(found: Sequence[Found]) -> list[Looked]:
    assert _worker is not None
    return _worker.lint(found)


def _processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
