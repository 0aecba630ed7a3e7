"""Find what a record says under one of several names, and leave alone what is no answer.

For what a log mentions beside the prompt (ids, counts, free text): a value of an unexpected
kind is then no reason to give the record up. `kvaudit.logs.values.fields` is the strict
counterpart.
"""

from typing import Any

from kvaudit.core.requests import Json
from kvaudit.logs.format import BadRecord
from kvaudit.logs.values import fields


def as_label(value: object) -> str | None:
    """Return a value that names something: text that is not blank, or a whole number."""
    if type(value) is str:
        return value if value and not value.isspace() else None
    return str(value) if type(value) is int else None


def as_count(value: object) -> int | None:
    """Return a value as a whole number from 0 up, also from text."""
    if type(value) is int:
        return value if value >= 0 else None
    try:
        return fields.integer(value, "")
    except BadRecord:
        return None


def as_number(value: object) -> float | None:
    """Return a value as a finite number, also from text."""
    try:
        return fields.number(value, "")
    except BadRecord:
        return None


def as_whole(value: object) -> int | None:
    """Return a value as a whole number of either sign, also from text."""
    if type(value) is int:
        return value
    result = as_number(value)
    return int(result) if result is not None and result.is_integer() else None


def label(record: Json, *names: str) -> str | None:
    """Return the first of these fields that names something."""
    for name in names:
        value = as_label(record.get(name))
        if value is not None:
            return value
    return None


def count(record: Json, *names: str) -> int | None:
    """Return the first of these fields that holds a count."""
    for name in names:
        value = record.get(name)
        if value is not None and (found := as_count(value)) is not None:
            return found
    return None


def number(record: Json, *names: str) -> float | None:
    """Return the first of these fields that holds a finite number."""
    for name in names:
        value = record.get(name)
        if value is not None and (found := as_number(value)) is not None:
            return found
    return None


def child(record: Json, *path: str) -> Json:
    """Return the object at the end of ``path``, opened where it is text; empty if there is none."""
    for name in path:
        value = record.get(name)
        if type(value) is not dict:
            value = opened(value)
        record = value if isinstance(value, dict) else {}
    return record


def opened(value: object) -> Any:
    """Return ``value``, parsed where it is text that holds a JSON object or list.

    For fields that hold free text as often as JSON: ``"[1] is a citation"`` stays text.
    """
    if type(value) is str and value.lstrip()[:1] in ("{", "["):
        try:
            return fields.json_value(value, "")
        except BadRecord:
            return value
    return value


def total(*counts: int | None) -> int | None:
    """Return the sum of the counts that are known, None if none is."""
    known = [n for n in counts if n is not None]
    return sum(known) if known else None
