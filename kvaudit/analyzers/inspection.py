"""One run of the linter over what a call names, which can be repeated after a fix."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kvaudit.analyzers.collect import Found
from kvaudit.analyzers.decode import Undecodable, decode
from kvaudit.analyzers.files import NO_READER, Task, lint_files, lint_text
from kvaudit.analyzers.project import project_root
from kvaudit.analyzers.reader import all_readers
from kvaudit.analyzers.run import Looked
from kvaudit.analyzers.settle import Terms, settle
from kvaudit.analyzers.unnamed import likely_ending
from kvaudit.core.findings import LintResult
from kvaudit.core.sources import Source

STDIN = "<stdin>"
ASK_FOR_A_NAME = "it could be of several kinds; say what it is with --stdin-filename NAME"


@dataclass(frozen=True, slots=True)
class Piped:
    """Standard input, and the name of the file it stands for, where the user gives one."""

    name: str | None
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What is linted, by which rules, and what of it is known."""

    found: Sequence[Found]
    task: Task
    terms: Terms
    piped: Piped | None = None

    def run(self) -> LintResult:
        """Lint all files as they are now."""
        looked = lint_files(self.found, self.task)
        if self.piped is not None:
            looked.append(self._look_at_piped(self.piped))
        return settle(looked, self.terms)

    def _look_at_piped(self, piped: Piped) -> Looked:
        try:
            text = decode(piped.data).text
        except Undecodable as reason:
            return Looked(path=piped.name or STDIN, skipped=str(reason))
        name = piped.name
        if name is None:
            ending = likely_ending(text)
            if ending is None:
                return Looked(path=STDIN, skipped=ASK_FOR_A_NAME)
            name = STDIN + ending
        seen = lint_text(Source(name, text), project_root(Path.cwd()), self.task)
        return Looked(path=name, skipped=NO_READER) if seen is None else seen


def names_of(found: Sequence[Found]) -> dict[str, str]:
    """Return the real path of every file with the name it is reported by."""
    return {os.path.realpath(file.path): file.name for file in found}


def endings() -> tuple[str, ...]:
    """Return every ending of a file name that some reader takes."""
    return tuple(sorted({ending for reader in all_readers() for ending in reader.suffixes}))
