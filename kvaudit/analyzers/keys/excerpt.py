"""Code as a message quotes it."""

from __future__ import annotations

_LONGEST = 60


def excerpt(code: str) -> str:
    """Return code on one line, cut where it is long."""
    flat = " ".join(code.split())
    return flat if len(flat) <= _LONGEST else f"{flat[: _LONGEST - 1]}…"
