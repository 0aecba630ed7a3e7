"""Find what a record says under one of several names, and leave alone what is no answer.

For what a log mentions beside the prompt (ids, counts, free text): a value of an unexpected
kind is then no reason to give the record up. `kvaudit.logs.fields` is the strict counterpart.
"""

from typing import Any

from kvaudit.core.requests import Json
from kvaudit.logs import fields
from kvaudit.logs.format import BadRecord


def label(record: Json, *names: str) -> str | None:
    """Return the first of these fields that names something: text, or a whole number."""
    for name in names:
        value = record.get(name)
        if value is None:
            continue
        if isinstance(value, str) and value and not value.isspace():
            return value
        if type(value) is int:
            return str(value)
    return None


def count(record: Json, *names: str) -> int | None:
    """Return the first of these fields that holds a whole number from 0 up."""
    for name in names:
        given = record.get(name)
        if given is None:
            continue
        try:
            value = fields.integer(given, name)
        except BadRecord:
            continue
        if value is not None:
            return value
    return None


def number(record: Json, *names: str) -> float | None:
    """Return the first of these fields that holds a finite number."""
    for name in names:
        given = record.get(name)
        if given is None:
            continue
        try:
            value = fields.number(given, name)
        except BadRecord:
            continue
        if value is not None:
            return value
    return None


def child(record: Json, *path: str) -> Json:
    """Return the object at the end of ``path``, opened where it is text; empty if there is none."""
    for name in path:
        value = record.get(name)
        if value is None:
            return {}
        value = opened(value)
        record = value if isinstance(value, dict) else {}
    return record


def opened(value: object) -> Any:
    """Return ``value``, parsed where it is text that holds a JSON object or list.

    For fields that hold free text as often as JSON: ``"[1] is a citation"`` stays text.
    """
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return fields.json_value(value, "")
        except BadRecord:
            return value
    return value


def total(*counts: int | None) -> int | None:
    """Return the sum of the counts that are known, None if none is."""
    known = [n for n in counts if n is not None]
    return sum(known) if known else None
