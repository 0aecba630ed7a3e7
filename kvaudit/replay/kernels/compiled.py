"""How kernels are compiled: once a machine, into a cache that can be written.

numba keeps compiled kernels beside the source, else in the user's cache folder. Where
neither can be written (a read-only installation run by a user without a home), it refuses to
load the module, so a private folder under the temporary one is named instead.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import numba


def _can_write(folder: Path) -> bool:
    """Whether files can be made in ``folder``, which need not exist yet."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def _private_folder() -> str:
    """Return a folder for compiled code that nobody else can write to.

    Compiled code that is loaded is run, so a folder of that name that someone else made is
    not used.
    """
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"kvaudit-kernels-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    state = folder.lstat()
    if stat.S_ISDIR(state.st_mode) and state.st_uid == user and not state.st_mode & 0o077:
        return str(folder)
    return tempfile.mkdtemp(prefix="kvaudit-kernels-")


def _user_cache() -> Path | None:
    """Return the folder in which numba would keep its own, or None for a user without a home."""
    folder = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return None if folder.startswith("~") else Path(folder)


def _cache_folder() -> str:
    """Return the folder to name to numba; the empty string leaves the choice to it."""
    own = _user_cache()
    if _can_write(Path(__file__).parent) or (own is not None and _can_write(own)):
        return ""
    return _private_folder()


if not numba.config.CACHE_DIR:
    numba.config.CACHE_DIR = _cache_folder()

compiled = numba.njit(cache=True, nogil=True)
"""Decorator of every kernel: compiled at the first call, runs without the interpreter lock."""
