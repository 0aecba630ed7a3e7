"""Names of files that do not depend on where kvaudit is called from.

A finding's path is as the user gave it. A baseline needs one that stays the same, and a service
that shows findings beside the code looks for files from the root of the repository.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kvaudit.analyzers.project import project_root, repository_root


@dataclass(frozen=True, slots=True)
class Places:
    """Reported paths as seen from elsewhere than the folder of the call.

    A root that holds the folder of the call comes before the file's own: who audits a repository
    means the files of those inside it, such as submodules, from its own root.
    """

    folder: Path
    """Where kvaudit is called from."""

    def in_project(self, path: str) -> str:
        """Return a path as seen from the root of its project."""
        return self._seen(path, [*self._repositories(path), _project(self.folder)])

    def in_repository(self, path: str) -> str:
        """Return a path as seen from the root of its repository; as it is where there is none."""
        return self._seen(path, self._repositories(path))

    def from_folder(self, path: str, folder: Path) -> str:
        """Return a path as seen from a folder; as it is where it does not lie in it."""
        return self._seen(path, [folder])

    def _repositories(self, path: str) -> list[Path | None]:
        return [_repository(self.folder), _repository((self.folder / path).parent)]

    def _seen(self, path: str, roots: Iterable[Path | None]) -> str:
        if path.startswith("<"):  # standard input, which lies nowhere
            return path
        absolute = os.path.abspath(self.folder / path)
        ways = (absolute, os.path.realpath(absolute))
        for root in roots:
            for way in ways if root is not None else ():
                relative = os.path.relpath(way, root).replace(os.sep, "/")
                if relative != ".." and not relative.startswith("../"):
                    return relative
        return path


@cache
def _project(folder: Path) -> Path:
    return project_root(folder)


@cache
def _repository(folder: Path) -> Path | None:
    return repository_root(folder)
