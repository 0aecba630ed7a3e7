"""Windows over the history, whatever the language: what makes one, and what is said of it."""

from __future__ import annotations

import re

MIN_KEPT = 6
"""Who takes no more than two exchanges and a question asks about the newest messages, and does not
go on with the history; what such a window could reuse is little."""

MEASURES = re.compile(
    r"token|budget|limit|max|size|len|char|context|remaining|window|total|used|count|cost|round|turn",
    re.IGNORECASE,
)
"""Words of a comparison that holds how long a history is against how long it may be."""


def drops_the_oldest(written: str) -> str:
    """Return what is said of the code that keeps a window, as written."""
    return f"{written} drops the oldest messages on every turn"


def moves_the_start(written: str) -> str:
    """Return what is said of a slice that takes the newest messages."""
    return f"{written} moves the start of the history on every turn"


def changes_as_they_age(written: str) -> str:
    """Return what is said of a condition under which messages of some age are written anew."""
    return f"{written} changes one earlier message after another"
