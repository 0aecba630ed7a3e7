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
_SAYS_WHAT = frozenset(("description", "parameters", "input_schema"))
"""Keys of a tool; what is called by its name alone may be an example, or a past call."""
_DECODER = json.JSONDecoder()


class JsonText(NamedTuple):
    """One value, and the characters of the text that it stands in.

    Tools that follow one another, as templates of open models write them, are one list.
    """

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
            each = JsonText(begin.start(), end, value)
            before = found.pop() if found and _goes_on(found[-1], each, text) else None
            found.append(each if before is None else _as_list(before, each))
            at = end
    return tuple(found)


def members(text: str) -> tuple[list[str], str]:
    """Return the values that follow one another in a text, as they are spelled, and what is
    between two of them."""
    found, at, between = [], 0, "\n"
    while at < len(text):
        _, end = _DECODER.raw_decode(text, at)
        found.append(text[at:end])
        at = end + len(text[end:]) - len(text[end:].lstrip())
        between = text[end:at] or between
    return found, between


def in_lines(each: JsonText, text: str) -> bool:
    """Whether a list is none in its text, but values that follow one another."""
    return isinstance(each.value, list) and text[each.start] != "["


def _goes_on(before: JsonText, each: JsonText, text: str) -> bool:
    """Whether a tool follows another one."""
    if not _is_tool(each.value) or text[before.end : each.start].strip():
        return False
    return _is_tool(before.value) or in_lines(before, text)


def _as_list(before: JsonText, each: JsonText) -> JsonText:
    known = before.value if isinstance(before.value, list) else [before.value]
    return JsonText(before.start, each.end, [*known, each.value])


def _is_tool(value: Any) -> bool:
    own = value.get("function", value) if isinstance(value, dict) else None
    return isinstance(own, dict) and "name" in own and not _SAYS_WHAT.isdisjoint(own)


def what_differs(later: str, earlier: str, offset: int) -> Cause | None:
    """Return how two texts differ that part inside a value; None where they do not, or by more."""
    mine, yours = (
        next((each for each in reversed(json_texts(text)) if each.start <= offset), None)
        for text in (later, earlier)
    )
    # Of tools that follow one another, one text may have no more where the other has the next.
    if mine is None or yours is None or mine.start != yours.start:
        return None
    if offset > max(mine.end, yours.end):
        return None
    if mine.value == yours.value:
        return Cause.JSON_KEY_ORDER
    lists = [[each.value] if _is_tool(each.value) else each.value for each in (mine, yours)]
    if not all(map(is_tools, lists)):
        return None
    one, other = (sorted(map(canonical, tools)) for tools in lists)
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
