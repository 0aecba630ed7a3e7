"""Readings of the clock, and how coarse formats, slices and methods make them."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from kvaudit.analyzers.source.python.engine import Engine, Frame
from kvaudit.analyzers.source.python.origins import precision
from kvaudit.analyzers.source.python.placing import unknown
from kvaudit.analyzers.source.python.values import NOTHING, Shape, Value, changed
from kvaudit.core.document import Origin

_ZONE = re.compile(r"[^%]*%:?[zZ][^%]*")
"""A format that says the zone alone, which is the user's."""


def at_precision(value: Value, pattern: str) -> Value:
    """Return a clock reading after a time format."""
    if _ZONE.fullmatch(pattern):
        zone = changed(value, lambda part: (part.of(Origin.UNKNOWN),))
        return replace(zone, shape=Shape.TEXT)
    fine = precision(pattern)
    if fine is None:
        return replace(value, shape=Shape.TEXT)
    return replace(coarse(value) if fine is Origin.DATE else value, shape=Shape.TEXT)


def coarse(value: Value) -> Value:
    """Return a clock reading of which only the day is left."""
    return changed(
        value, lambda part: (part.of(Origin.DATE) if part.origin is Origin.CLOCK else part,)
    )


def of_time(engine: Engine, frame: Frame, node: ast.Subscript, base: Value, key: str) -> Value:
    """Return a field of a reading of the clock that came as a dict."""
    if "zone" in key or key.startswith("tz"):
        return unknown(engine, frame, node, key)
    return coarse(base) if re.search(r"day|date|month|year", key) else base


def is_date_length(upper: ast.expr | None) -> bool:
    """Whether a slice ends where the time of day begins in ``2026-01-31T09:00``."""
    if not isinstance(upper, ast.Constant) or not isinstance(upper.value, int):
        return False
    return 0 < upper.value <= len("2026-01-31")


def of_moment(node: ast.Call, name: str, receiver: Value, args: list[Value]) -> Value | None:
    """Return what a method of a reading of the clock gives."""
    if name in ("strftime", "format", "to_string", "format_datetime"):
        pattern = args[0].text if args else None
        if pattern is None and node.args and "date_format" in ast.dump(node.args[0]):
            pattern = "%Y-%m-%d"
        return (
            replace(receiver, shape=Shape.TEXT)
            if pattern is None
            else at_precision(receiver, pattern)
        )
    if name in ("date", "to_date_string", "toordinal", "weekday", "isoweekday", "day_name"):
        return coarse(receiver)
    if name.startswith(("tz", "utcoffset", "dst")):
        return NOTHING
    if name == "replace":
        zeroed = {keyword.arg for keyword in node.keywords}
        return coarse(receiver) if "hour" in zeroed else receiver
    if name in ("start_of", "floor", "normalize"):
        return coarse(receiver) if args and args[0].text in ("day", "D") else receiver
    if name == "isoformat" and any(k.arg == "timespec" for k in node.keywords):
        return replace(receiver, shape=Shape.TEXT)
    return receiver
