"""Fixes applied: exact edits of the bytes of a file, never text that was parsed and written anew.

Of fixes that touch the same text the first is made and the others wait for the next run. A file
is only changed if it still holds what was linted, and if its reader can read the result.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kvaudit.analyzers.decode import Undecodable, decode, read_bytes
from kvaudit.analyzers.project import FolderProject, project_root
from kvaudit.analyzers.reader import Unreadable
from kvaudit.analyzers.run import documents_of
from kvaudit.core.findings import Edit, Finding, Fix
from kvaudit.core.output import replacing
from kvaudit.core.sources import Source


@dataclass(frozen=True, slots=True)
class Repair:
    """One file, before and after."""

    path: str
    before: str
    after: str
    data: bytes
    """What the file is to hold."""

    def write(self) -> None:
        """Change the file."""
        with replacing(Path(self.path)) as file:
            file.write(self.data)

    def diff(self) -> Iterator[str]:
        """Yield the lines of a unified diff; line ends are those of the file."""
        lines = difflib.unified_diff(
            self.before.splitlines(keepends=True),
            self.after.splitlines(keepends=True),
            f"a/{self.path}",
            f"b/{self.path}",
        )
        for line in lines:
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


@dataclass(slots=True)
class Repairs:
    """What one round of fixing does."""

    files: list[Repair] = field(default_factory=list)
    fixed: int = 0
    notes: list[str] = field(default_factory=list)


def repairs(findings: Iterable[Finding], *, unsafe: bool) -> Repairs:
    """Return what fixing the findings gives; nothing is written."""
    chosen = _Chosen()
    for finding in findings:
        if finding.fix is not None and (finding.fix.safe or unsafe):
            chosen.add(finding, finding.fix)
    done = Repairs(notes=chosen.notes)
    for path, edits in sorted(chosen.edits.items()):
        made = _repaired(path, list(edits))
        if isinstance(made, str):
            done.notes.append(f"{path}: not fixed: {made}")
        else:
            done.files.append(made)
            done.fixed += chosen.counts[path]
    return done


class _Chosen:
    """Fixes that do not get in each other's way."""

    def __init__(self) -> None:
        self.edits: dict[str, dict[Edit, None]] = {}
        self.counts: dict[str, int] = {}
        self.notes: list[str] = []

    def add(self, finding: Finding, fix: Fix) -> None:
        if any(self._in_the_way(edit) for edit in fix.edits):
            place = finding.source.place(finding.span.start)
            self.notes.append(
                f"{finding.source.path}:{place.line}: {finding.rule} is not fixed yet: another "
                "fix changes the same text; run again"
            )
            return
        for edit in fix.edits:
            self.edits.setdefault(edit.source.path, {})[edit] = None
        path = fix.edits[0].source.path
        self.counts[path] = self.counts.get(path, 0) + 1

    def _in_the_way(self, edit: Edit) -> bool:
        others = self.edits.get(edit.source.path, {})
        return edit not in others and any(_overlap(edit, other) for other in others)


def _overlap(one: Edit, other: Edit) -> bool:
    if one.span == other.span:
        return True
    return one.span.start < other.span.end and other.span.start < one.span.end


def applied(text: str, findings: Iterable[Finding]) -> str:
    """Return a text with all its fixes made, safe or not."""
    chosen = _Chosen()
    for finding in findings:
        if finding.fix is not None:
            chosen.add(finding, finding.fix)
    return _edited(text, [edit for edits in chosen.edits.values() for edit in edits])


def _edited(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with edits made, from the last to the first, so that offsets hold."""
    for edit in sorted(edits, key=lambda edit: edit.span, reverse=True):
        new = edit.replacement
        if "\r\n" in edit.source.text and "\r\n" not in new:
            new = new.replace("\n", "\r\n")
        text = text[: edit.span.start] + new + text[edit.span.end :]
    return text


def _repaired(path: str, edits: Sequence[Edit]) -> Repair | str:
    """Return a file with its edits made, or why they are not."""
    try:
        decoded = decode(read_bytes(Path(path)))
    except Undecodable as reason:
        return str(reason)
    text = decoded.text
    if any(edit.source.text != text for edit in edits):
        return "it has changed since it was linted"
    after = _edited(text, edits)
    try:
        documents_of(Source(path, after), FolderProject(project_root(Path(path)), {}), named=True)
    except Unreadable as reason:
        return f"the result could not be read: {reason}"
    return Repair(path, text, after, decoded.encode(after))
