"""The prompts in a project's files, as the linter reads them."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kvaudit.analyzers.collect import Found
from kvaudit.analyzers.decode import Undecodable, decode, read_bytes
from kvaudit.analyzers.limit import TookTooLong, within
from kvaudit.analyzers.project import FolderProject
from kvaudit.analyzers.reader import Unreadable, all_readers, reader_for
from kvaudit.analyzers.run import documents_of
from kvaudit.analyzers.stakes import low_stakes
from kvaudit.core.console import LOGGER
from kvaudit.core.document import Document, Origin
from kvaudit.core.errors import KvauditError
from kvaudit.core.sources import Source

_LOGS = "request-log"
"""Reader of what is no prompt but made of prompts: a log never is where its own text came from."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """What was read."""

    documents: Sequence[Document]
    further: Sequence[Document]
    """Of files that are called like templates and hold no word of a prompt: only what stands in a
    log tells that they are one."""
    files: int
    """Files that a reader looked through."""
    skipped: Mapping[str, int]
    """Files that were not read, by reason."""


def prompt_endings() -> tuple[str, ...]:
    """Return every ending of a file name that some reader takes, but for logs alone."""
    readers = [reader for reader in all_readers() if reader.name != _LOGS]
    return tuple(sorted({ending for reader in readers for ending in reader.suffixes}))


def read_prompts(found: Iterable[Found], variables: Mapping[str, Origin]) -> Prompts:
    """Read all prompts; a file that cannot be read is counted and left out."""
    reading = _Reading(list(found), variables)
    for file in reading.found:
        reading.take(file)
    return Prompts(
        reading.documents, reading.further, reading.files, dict(sorted(reading.skipped.items()))
    )


class _Reading:
    """Files read one by one."""

    def __init__(self, found: Sequence[Found], variables: Mapping[str, Origin]) -> None:
        self.found = found
        self._variables = variables
        self._names = {str(Path(file.path).resolve()): file.name for file in found}
        self._projects: dict[Path, FolderProject] = {}
        self.documents: list[Document] = []
        self.further: list[Document] = []
        self.files = 0
        self.skipped: Counter[str] = Counter()

    def take(self, file: Found) -> None:
        try:
            with within():
                self._read(file)
        except (Undecodable, Unreadable) as reason:
            self.skipped[str(reason)] += 1
        except TookTooLong:
            self.skipped["it took too long"] += 1
        except KvauditError:
            raise
        except Exception as error:
            LOGGER.debug("%s: %s", file.name, traceback.format_exc())
            self.skipped[f"kvaudit crashed on it: {type(error).__name__}"] += 1

    def _read(self, file: Found) -> None:
        if file.root not in self._projects:
            self._projects[file.root] = FolderProject(file.root, self._variables, self._names)
        project = self._projects[file.root]
        source = Source(file.name, decode(read_bytes(file.path)).text)
        reader = reader_for(source)
        if reader is not None and reader.name == _LOGS:
            return
        minor = low_stakes(project.relative(source))
        if reader is None:
            try:
                made = documents_of(source, project, named=True) or ()
            except Unreadable:
                if file.named:
                    raise
                return  # nobody said that it is a prompt
            self.further += [replace(each, low_stakes=minor) for each in made]
            return
        made = documents_of(source, project, named=file.named) or ()
        self.files += 1
        self.documents += [replace(each, low_stakes=each.low_stakes or minor) for each in made]
