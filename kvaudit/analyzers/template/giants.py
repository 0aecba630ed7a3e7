"""Files that no one wrote as a prompt."""

from __future__ import annotations

from kvaudit.analyzers.reader import Unreadable

MAX_CHARS = 4 << 20
"""A larger file is no prompt."""


def refuse_giants(characters: int) -> None:
    """Raise `Unreadable` for a text that is larger than any prompt."""
    if characters > MAX_CHARS:
        raise Unreadable(f"it is larger than {MAX_CHARS >> 20} MiB, which no prompt is")
