"""A baseline: findings that were there when kvaudit came, and are not reported.

The file is JSON, one entry a line and sorted, so that a diff of it reads well. An entry is the
finding's fingerprint, which stays the same when lines move, with its rule and path for the reader.
No text of a prompt stands in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from kvaudit.analyzers.project import project_root
from kvaudit.core.errors import InputError
from kvaudit.core.findings import Finding, LintResult, Silenced, SilencedBy
from kvaudit.core.output import replacing
from kvaudit.core.rulebook import Rule

SCHEMA = 1


class Entry(NamedTuple):
    """One known finding."""

    path: str
    rule: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """The entries of a file, by fingerprint."""

    entries: Mapping[str, Entry]
    roots: Sequence[Path]
    """Folders from which its paths may be meant."""

    @classmethod
    def read(cls, path: Path) -> Baseline:
        """Read a file that `write` made. Raises `InputError`."""
        try:
            document = json.loads(path.read_text("utf-8"))
            entries = [_entry(item) for item in document["findings"]]
        except OSError as error:
            raise InputError(
                f"{path}: the baseline cannot be read: {error.strerror}; "
                f"make it with: kvaudit lint --write-baseline {path}"
            ) from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError(
                f"{path}: is no baseline; make it with: kvaudit lint --write-baseline {path}"
            ) from None
        if document.get("schema") != SCHEMA:
            raise InputError(
                f"{path}: is a baseline of schema {document.get('schema')!r}, and this kvaudit "
                f"reads {SCHEMA}; make it anew with: kvaudit lint --write-baseline {path}"
            )
        roots = (project_root(Path.cwd()), project_root(path))
        return cls({entry.fingerprint: entry for entry in entries}, roots)

    def apply(
        self,
        findings: Iterable[Finding],
        silenced: Iterable[Silenced],
        checked: Collection[str],
        rules: Sequence[Rule],
    ) -> tuple[list[Finding], list[Silenced], list[str]]:
        """Return the findings that are new, those that are known, and entries without one.

        An entry is only said to be stale if its file was checked in this run, by its rule.
        """
        new: list[Finding] = []
        known: list[Silenced] = []
        for finding in findings:
            if finding.key in self.entries:
                known.append(Silenced(finding=finding, by=SilencedBy.BASELINE))
            else:
                new.append(finding)
        met = {one.finding.key for one in (*known, *silenced)}
        names = {rule.name for rule in rules}
        stale = [
            f"{entry.path}: {entry.rule}"
            for entry in sorted(self.entries.values())
            if entry.fingerprint not in met
            and entry.rule in names
            and (entry.path in checked or self._gone(entry.path))
        ]
        return new, known, stale

    def _gone(self, path: str) -> bool:
        return not any((root / path).exists() for root in self.roots)


def write_result(path: Path, result: LintResult, place: Callable[[str], str]) -> LintResult:
    """Write the findings of a run as a baseline; return the run as it looks with it."""
    entries = {Entry(place(f.source.path), f.rule, f.key or "") for f in result.findings}
    lines = [
        json.dumps({"path": e.path, "rule": e.rule, "fingerprint": e.fingerprint})
        for e in sorted(entries)
    ]
    body = ",\n    ".join(lines)
    inner = f"\n    {body}\n  " if lines else ""
    with replacing(path) as file:
        file.write(f'{{\n  "schema": {SCHEMA},\n  "findings": [{inner}]\n}}\n'.encode())
    known = [Silenced(finding=f, by=SilencedBy.BASELINE) for f in result.findings]
    count = f"{len(entries):,} finding" + ("" if len(entries) == 1 else "s")
    note = f"wrote {count} to {path}; use it with: --baseline {path}"
    return replace(
        result, findings=(), silenced=(*result.silenced, *known), notes=(*result.notes, note)
    )


def _entry(item: Any) -> Entry:
    entry = Entry(item["path"], item["rule"], item["fingerprint"])
    if not all(isinstance(part, str) for part in entry):
        raise TypeError
    return entry
