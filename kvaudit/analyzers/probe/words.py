"""What a probe found, in words."""

from __future__ import annotations

from kvaudit.analyzers.probe.builder import Stability, Unstable


def explained(found: Stability) -> str:
    """Return what is not stable, the first byte first."""
    return "\n".join(_lines(one) for one in found.unstable)


def _lines(one: Unstable) -> str:
    return (
        f"byte {one.offset_bytes:,} (line {one.line}) depends on {one.cause}\n"
        f"  behind {one.before!r}\n"
        f"  once   {one.first!r}\n"
        f"  then   {one.second!r}"
    )
