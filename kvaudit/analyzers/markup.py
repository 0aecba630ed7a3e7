"""Braces of a web page: ``<p>{name}</p>`` in a prompt shows how JSX or Vue is written.

Only elements of pages count. Prompts are full of marks such as ``<context>{context}</context>``.
"""

from __future__ import annotations

import re

from kvaudit.core.sources import Span

_REACH = 300
"""How many characters before a brace can be the tag around it."""

_ELEMENT = r"(?:div|span|p|h[1-6]|li|ul|ol|td|th|tr|button|strong|em)"
_WITH_ATTRIBUTES = r"(?:div|span|p|button|input|textarea|select|form|img|a|label)"
_INSIDE = re.compile(rf"<{_ELEMENT}(?:\s(?:[^<>]|=>)*)?>\s*\Z", re.IGNORECASE)
_ATTRIBUTE = re.compile(rf"<{_WITH_ATTRIBUTES}\s(?:[^<>]|=>)*[\w-]=\Z", re.IGNORECASE)
_COMPONENT = re.compile(r"<[A-Z][a-z]\w*\s(?:[^<>]|=>)*[\w-]=\Z")
"""A component of a page, as in ``<BarChart data={data}>``."""
_CLOSED = re.compile(rf"\s*</{_ELEMENT}>", re.IGNORECASE)


def in_markup(text: str, mark: Span) -> bool:
    """Whether a mark is the content or an attribute of an element of a web page."""
    before = text[max(0, mark.start - _REACH) : mark.start]
    if before.endswith("="):
        return any(shape.search(before) is not None for shape in (_ATTRIBUTE, _COMPONENT))
    if not before.rstrip().endswith(">"):
        return False
    return _INSIDE.search(before) is not None and _CLOSED.match(text, mark.end) is not None
