"""Where a text has holes, in the common ways of writing them: fields, dollar names, braces."""

from __future__ import annotations

import re
from string import Formatter

from kvaudit.analyzers.markup import in_markup
from kvaudit.core.sources import Span

_DOLLAR = re.compile(r"\$(?:\$|(?P<bare>[A-Za-z_]\w*)|\{(?P<key>[A-Za-z_]\w*)\})")
_HOLE = re.compile(
    r"\{(?:\{\s*)?([A-Za-z_][\w.]*)(?:\s*\|[^{}]*)?(?:(?<!\s)[!:](?!\s)[^{}]*)?\s*\}?\}"
)
_CALL = re.compile(r"\{\{-?\s*([A-Za-z_][\w.]*\([^(){}]{0,200}\)[^{}]{0,200}?)\s*-?\}\}")
"""A hole that calls something, as only Jinja's may."""

Hole = tuple[int, int, str | int, str]
"""Start and end in the text, the name or number that fills it, and its format."""


def holes_of_format(text: str) -> list[Hole]:
    """Return the fields of a text for ``str.format``; none where it is no such text."""
    found: list[Hole] = []
    at = auto = 0
    try:
        for run, name, spec, _conversion in Formatter().parse(text):
            at = _skip(text, at, run)
            if name is None:
                continue
            end = _closing(text, at)
            key: str | int = re.split(r"[.\[]", name)[0]
            if key == "" or (isinstance(key, str) and key.isdigit()):
                key = auto if key == "" else int(key)
                auto += 1
            found.append((at, end, name if isinstance(key, str) else key, spec or ""))
            at = end
    except (ValueError, IndexError):
        return []
    return found


def _skip(text: str, at: int, run: str) -> int:
    for char in run:
        at += 2 if char in "{}" and text.startswith(char * 2, at) else 1
    if text.startswith(("{{", "}}"), at):
        at += 2
    return at


def _closing(text: str, at: int) -> int:
    depth = 0
    for end in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            return end + 1
    return len(text)


def holes_of_dollars(text: str) -> list[Hole]:
    """Return the names that a ``string.Template`` fills."""
    found = []
    for match in _DOLLAR.finditer(text):
        name = match["bare"] or match["key"]
        if name:
            found.append((match.start(), match.end(), name, ""))
    return found


def holes_by_name(text: str) -> list[Hole]:
    """Return the named holes of a template in any of the common ways of writing them."""
    found = [*_HOLE.finditer(text), *(_CALL.finditer(text) if "{{" in text else ())]
    return sorted(
        (m.start(), m.end(), m[1], "") for m in found if not in_markup(text, Span(*m.span()))
    )
