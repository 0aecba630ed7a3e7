"""Values of a record, checked and turned into what `Request` holds.

Every function takes the value and the field's name for the message, returns None for None and
for an empty text (an empty CSV cell), and raises `BadRecord` for what it cannot turn.
"""

from __future__ import annotations

import math
from array import array
from typing import Any

import orjson

from kvaudit.core.requests import Json
from kvaudit.logs.format import BadRecord

# What logs write for a missing value when they write something.
_NOTHING = frozenset({"", "None", "null", "NULL", "\\N", "NaN", "nan"})
_FLAGS = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


def text(value: object, name: str) -> str | None:
    """Return a text; a number becomes its digits, since ids are often numbers."""
    if value is None or type(value) is str:
        return value or None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise BadRecord(f"{name} is not a text")


def integer(value: object, name: str) -> int | None:
    """Return a whole number that is not negative: a count."""
    whole = signed(value, name)
    if whole is not None and whole < 0:
        raise BadRecord(f"{name} is negative")
    return whole


def signed(value: object, name: str) -> int | None:
    """Return a whole number."""
    if type(value) is int:
        return value
    if isinstance(value, str):
        try:
            return int(value)  # exact where a float would not be: seeds have 64 bits
        except ValueError:
            pass
    exact = number(value, name)
    if exact is None:
        return None
    if not exact.is_integer():
        raise BadRecord(f"{name} is not a whole number")
    return int(exact)


def number(value: object, name: str) -> float | None:
    """Return a finite number; not-a-number means a missing value."""
    if value is None or (isinstance(value, str) and value.strip() in _NOTHING):
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise BadRecord(f"{name} is not a number")
    try:
        result = float(value)
    except (ValueError, OverflowError):
        raise BadRecord(f"{name} is not a number") from None
    if math.isnan(result):
        return None
    if math.isinf(result):
        raise BadRecord(f"{name} is infinite")
    return result


def flag(value: object, name: str) -> bool | None:
    """Return true or false; LiteLLM and others write them as words."""
    if value is None or isinstance(value, bool):
        return value
    word = str(value).strip()
    if word in _NOTHING:
        return None
    if word.lower() in _FLAGS:
        return _FLAGS[word.lower()]
    raise BadRecord(f"{name} is neither true nor false")


def json_value(value: object, name: str) -> Any:
    """Return JSON as parsed: a text that holds JSON is opened, anything else is returned."""
    if not isinstance(value, (str, bytes)):
        return value
    if value in _NOTHING:
        return None
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise BadRecord(f"{name} holds no JSON ({error})") from None


def json_object(value: object, name: str) -> Json | None:
    """Return a JSON object, or one written as a text."""
    parsed = json_value(value, name)
    if parsed is not None and not isinstance(parsed, dict):
        raise BadRecord(f"{name} is not an object")
    return parsed


def json_objects(value: object, name: str) -> list[Json] | None:
    """Return a list of JSON objects (messages, tools), or one written as a text."""
    parsed = value if type(value) is list else json_value(value, name)
    if parsed is None:
        return None
    if not isinstance(parsed, list):
        raise BadRecord(f"{name} is not a list")
    for item in parsed:
        if type(item) is not dict:
            raise BadRecord(f"{name} holds something that is not an object")
    return parsed


def token_ids(value: object, name: str) -> array[int] | None:
    """Return token ids as a compact array of 32 bits each."""
    return _int_array("i", value, name)


def block_ids(value: object, name: str) -> array[int] | None:
    """Return block ids as 64-bit integers; unsigned ones wrap around, which keeps them apart."""
    return _int_array("q", value, name)


def _int_array(code: str, value: object, name: str) -> array[int] | None:
    if isinstance(value, str):
        value = json_value(value, name)
    if value is None:
        return None
    if isinstance(value, array):
        return value if value.typecode == code else _int_array(code, value.tolist(), name)
    if not isinstance(value, list):
        raise BadRecord(f"{name} is not a list of integers")
    if value and type(value[0]) is bool:  # which Python counts among the integers
        raise BadRecord(f"{name} holds something that is not an integer")
    try:
        return array(code, value)
    except TypeError:
        raise BadRecord(f"{name} holds something that is not an integer") from None
    except OverflowError:
        return _wrapped(code, value, name)


def _wrapped(code: str, value: list[int], name: str) -> array[int]:
    if code == "q":
        try:
            return array("q", array("Q", value).tobytes())
        except (OverflowError, TypeError):
            pass
    raise BadRecord(f"{name} holds an integer that is too large")
