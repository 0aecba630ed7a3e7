"""Where kvaudit keeps what it need not make twice: vectors of texts, compiled kernels."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path | None:
    """Return ``KVAUDIT_CACHE_DIR``, else ``kvaudit`` in the user's cache; None without a home."""
    own = os.environ.get("KVAUDIT_CACHE_DIR")
    if own:
        return Path(own)
    root = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return None if root.startswith("~") else Path(root, "kvaudit")
