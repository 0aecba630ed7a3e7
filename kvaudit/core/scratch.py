"""Room on disk for a while: for what cannot be read twice, or would fill the memory."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from kvaudit.core.errors import InputError


@contextmanager
def room_for(what: str) -> Iterator[None]:
    """Say of which folder the disk is full, where writing ``what`` to a temporary file fails."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise InputError(
            f"{tempfile.gettempdir()} has no room for {what}; free some, or set TMPDIR to a "
            "larger folder"
        ) from None
