"""JSON that stands in a text: tools that an application writes into its prompt itself."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from kvaudit.core.why import Cause

_BEGIN = re.compile(r"(?:^|(?<=[\s:>=]))[\[{]", re.MULTILINE)
_LEAST_CHARS = 60
"""Shorter values are a part of a sentence."""
_TRIES = 64
_KEPT = 64
"""Texts whose values are remembered; neighbours are compared with the same ones."""
_DECODER = json.JSONDecoder()


class JsonText(NamedTuple):
    """One value, and the characters of the text that it stands in."""

    start: int
    end: int
    value: Any


@lru_cache(_KEPT)
def json_texts(text: str) -> Sequence[JsonText]:
    """Return the values of some length that a text holds, in order."""
    found: list[JsonText] = []
    at = 0
    for _ in range(_TRIES):
        begin = _BEGIN.search(text, at)
        if begin is None:
            break
        at = begin.end()
        try:
            value, end = _DECODER.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            continue
        if value and isinstance(value, list | dict) and end - begin.start() >= _LEAST_CHARS:
            found.append(JsonText(begin.start(), end, value))
            at = end
    return tuple(found)


def what_differs(later: str, earlier: str, offset: int) -> Cause | None:
    """Return how two texts differ that part inside a value; None where they do not, or by more."""
    mine, yours = (
        next((each for each in json_texts(text) if each.start <= offset <= each.end), None)
        for text in (later, earlier)
    )
    if mine is None or yours is None or mine.start != yours.start:
        return None
    if mine.value == yours.value:
        return Cause.JSON_KEY_ORDER
    if not (is_tools(mine.value) and is_tools(yours.value)):
        return None
    one, other = (sorted(map(canonical, each.value)) for each in (mine, yours))
    if one == other:
        return Cause.TOOL_ORDER
    return Cause.TOOL_SET if set(one) & set(other) else None


def reordered(later: str, earlier: str) -> bool:
    """Whether two texts hold the same value in other bytes, wherever it stands in them."""
    theirs = {unordered(each.value): earlier[each.start : each.end] for each in json_texts(earlier)}
    return any(
        theirs.get(unordered(each.value), own) != own
        for each in json_texts(later)
        if (own := later[each.start : each.end])
    )


def unordered(value: Any) -> str:
    """Return what is the same for the same value with its keys, or its tools, in another order."""
    if is_tools(value):
        return "\n".join(sorted(map(canonical, value)))
    return canonical(value)


def canonical(value: Any) -> str:
    """Return a value with its keys in order."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def is_tools(value: Any) -> bool:
    """Whether a value is a list of tools: all of its members have a name."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(tool, dict) and '"name"' in json.dumps(tool) for tool in value)
    )
