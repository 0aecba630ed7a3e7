"""How kernels are compiled: once a machine, into a cache that can be written.

numba compiles a kernel again when the file that it stands in has changed, and not when one has
that it calls or takes a constant from (numba's manual, "Notes on Caching"). The folder of compiled
code is therefore named by the content of all files that kernels are made of: another release never
runs code of the one before. Where the user's cache cannot be written (a read-only home, a user
without one), a private folder under the temporary one is named instead.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import os
import stat
import sys
import tempfile
from pathlib import Path

from kvaudit.core.cache_folder import cache_folder


def _load_numba() -> None:
    """Import numba, and what it adds when it first loads code, without what kernels do not need.

    It imports SciPy's linear algebra to see whether there is one, which takes longer than numba
    itself, and no kernel multiplies matrices; and yaml for settings that hardly anybody has.
    """
    needless = ["scipy"] if Path(".numba_config.yaml").exists() else ["scipy", "yaml"]
    hidden = [name for name in needless if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]
    # It makes some 90,000 objects that all stay, and that a collector would look through again
    # and again, the last time when the process ends.
    collects = gc.isenabled()
    gc.disable()
    try:
        importlib.import_module("numba.np.arraymath")
        gc.freeze()
    finally:
        if collects:
            gc.enable()
        for name in hidden:
            del sys.modules[name]


_load_numba()

import numba  # noqa: E402  (after the above)
from numba.core.options import DefaultOptions  # noqa: E402


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


def _digest(folder: Path) -> str:
    """Return a name for what the kernels below kvaudit's ``replay`` folder are made of."""
    sources = [folder / "blocks.py", folder / "key_runs.py"]
    sources += [*folder.glob("kernels/*.py"), *folder.glob("models/*.py")]
    found = hashlib.sha256()
    for source in sorted(sources):
        found.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def _cache_root() -> Path:
    """Return the folder below which compiled code of every release is kept."""
    if numba.config.CACHE_DIR:  # what the user names in NUMBA_CACHE_DIR
        return Path(numba.config.CACHE_DIR)
    own = cache_folder()
    return own if own is not None and _can_write(own) else Path(_private_folder())


numba.config.CACHE_DIR = str(_cache_root() / f"kernels-{_digest(Path(__file__).parents[1])}")

compiled = numba.njit(cache=True, nogil=True)
"""Decorator of every kernel: compiled at the first call, runs without the interpreter lock."""

# Not in numba's manual (numba/core/options.py, 0.61 to 0.68), so a numba without it only counts.
_UNCOUNTED = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}

inner = numba.njit(cache=True, nogil=True, **_UNCOUNTED)
"""Decorator of what kernels call that makes and returns no array: the references of the arrays it
is handed are not counted, which takes longer than all else that a small function does."""
