"""Lines that are new since a commit, as git tells them.

What counts is the work tree against the point where the two histories parted, so that work done on
the other branch since then is not taken for one's own. Files that git does not know are new.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kvaudit.core.errors import InputError, UsageError
from kvaudit.core.findings import OUT_OF_REACH, Finding
from kvaudit.core.sources import Source, Span

_HUNK = re.compile(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@")
# A repository's own settings must not run programs.
_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.quotePath=false")


@dataclass(frozen=True, slots=True)
class NewLines:
    """New lines by real path; None stands for all of a file."""

    lines: Mapping[str, frozenset[int] | None]

    def only(self, findings: Sequence[Finding]) -> list[Finding]:
        """Return the findings that new lines have brought about.

        A finding is new if its own lines are, or those on the way of its value; that fixed text
        behind it is new does not make it so.
        """
        return [
            f
            for f in findings
            if self._new(f.source, f.span)
            or any(self._new(r.source, r.span) for r in f.related if r.label != OUT_OF_REACH)
        ]

    def _new(self, source: Source, span: Span) -> bool:
        path = os.path.realpath(source.path)
        if path not in self.lines:
            return False
        lines = self.lines[path]
        last = max(span.start, span.end - 1)
        between = range(source.place(span.start).line, source.place(last).line + 1)
        return lines is None or not lines.isdisjoint(between)


def new_lines(since: str, folder: Path) -> NewLines:
    """Ask git what is new in the repository around a folder. Raises `UsageError`."""
    root = Path(_git(folder, "rev-parse", "--show-toplevel", told=since).rstrip("\n"))
    commit = _commit(folder, since)
    changed = _git(
        root, "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "-U0",
        "--src-prefix=a/", "--dst-prefix=b/", commit, "--", told=since,
    )  # fmt: skip
    untracked = _git(root, "ls-files", "--others", "--exclude-standard", "-z", told=since)
    lines: dict[str, frozenset[int] | None] = {
        os.path.realpath(root / path): numbers for path, numbers in _added(changed).items()
    }
    lines |= {os.path.realpath(root / path): None for path in untracked.split("\0") if path}
    return NewLines(lines)


def _commit(folder: Path, since: str) -> str:
    named = _run(
        folder, "rev-parse", "--verify", "--quiet", "--end-of-options", since + "^{commit}"
    )
    if named.returncode:
        raise UsageError(
            f"--since {since}: git knows no such commit here; in CI, fetch it first "
            "(actions/checkout takes fetch-depth: 0)"
        )
    commit = named.stdout.decode().strip()
    parted = _run(folder, "merge-base", commit, "HEAD")
    return parted.stdout.decode().strip() if parted.returncode == 0 else commit


def _git(folder: Path, *args: str, told: str) -> str:
    done = _run(folder, *args)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        if said and "not a git repository" in said[0]:
            raise UsageError(f"--since {told}: {folder} is in no git repository")
        raise InputError(f"--since {told}: git failed: {said[0] if said else done.returncode}")
    return done.stdout.decode("utf-8", "surrogateescape")


def _run(folder: Path, *args: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["git", *_SAFE, *args],
            cwd=folder,
            env=os.environ | {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"},
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise UsageError("--since needs git, and there is none on this machine") from None


def _added(diff: str) -> dict[str, frozenset[int]]:
    """Return the added lines of a diff without context, by path."""
    added: dict[str, set[int]] = {}
    path: str | None = None
    left = 0
    for line in diff.split("\n"):
        if left and line.startswith(("+", "-")):
            left -= line.startswith("+")
        elif line.startswith("+++ "):
            path = _unquoted(line[4:].rstrip("\t")).removeprefix("b/")
        elif (hunk := _HUNK.match(line)) and path is not None:
            start, left = int(hunk[1]), int(hunk[2] or 1)
            added.setdefault(path, set()).update(range(start, start + left))
    return {name: frozenset(lines) for name, lines in added.items()}


def _unquoted(path: str) -> str:
    """Return a path as git quotes it, with escapes, as it is."""
    if not path.startswith('"'):
        return path
    raw = path[1:-1].encode("utf-8", "surrogateescape").decode("unicode_escape")
    return raw.encode("latin-1").decode("utf-8", "surrogateescape")
