"""Whether a project's Python code names a function: what nobody names is called by nobody.

Text is searched, not parsed: a name in a comment counts as well, so that in doubt there is a
caller. Tests and examples are left out, since no user's prompt is built in them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from kvaudit.analyzers.foreign import NOT_OURS
from kvaudit.analyzers.stakes import low_stakes

MAX_BYTES = 40_000_000
"""Code of a project that is searched; in a larger one everything may be called."""
MAX_FOLDERS = 50_000
"""The same of folders: a file that is in no project stands beside all that its owner has."""


class Mentions:
    """The Python code below a folder, read when it is first asked for and then kept."""

    def __init__(self, root: Path) -> None:
        """Take the folder; nothing is read yet."""
        self._root = root
        self._known: dict[tuple[str, Path | None], bool] = {}

    def has(self, name: str, beside: Path | None = None) -> bool:
        """Whether a name stands anywhere but where a function of that name is defined.

        A file to look ``beside`` is left out.
        """
        if (name, beside) not in self._known:
            self._known[name, beside] = self._searched(name.encode(), beside)
        return self._known[name, beside]

    def _searched(self, name: bytes, beside: Path | None) -> bool:
        texts = self._texts
        if texts is None:
            return True
        if len(texts) < 2:
            return beside is None  # one file does not show who uses it
        used = re.compile(rb"(?<!\w)(?<!\bdef )" + re.escape(name) + rb"(?!\w)")
        return any(
            name in text and used.search(text) is not None
            for path, text in texts.items()
            if path != beside
        )

    @cached_property
    def _texts(self) -> dict[Path, bytes] | None:
        """The code; None where there is more than is searched."""
        texts: dict[Path, bytes] = {}
        left = MAX_BYTES
        for path in self._files():
            if path is None:
                return None
            try:
                text = path.read_bytes() if path.stat().st_size <= left else None
            except OSError:
                continue
            if text is None:
                return None
            left -= len(text)
            texts[path] = text
        return texts

    def _files(self) -> Iterator[Path | None]:
        """Yield the files of code, and None where there are too many folders to look through."""
        for number, (folder, below, files) in enumerate(os.walk(self._root)):
            if number == MAX_FOLDERS:
                yield None
                return
            below[:] = [name for name in below if name not in NOT_OURS]
            for name in files:
                path = Path(folder, name)
                place = path.relative_to(self._root).as_posix()
                if name.endswith(".py") and not low_stakes(place):
                    yield path
