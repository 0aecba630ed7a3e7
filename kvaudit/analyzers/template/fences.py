"""Fenced code in Markdown: templates shown there are examples, not part of the prompt's own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvaudit.core.sources import Span

CODE = re.compile(r"`[^`\n]++`")
"""Code within a line."""

_FENCE = re.compile(r"^[ \t]*(`{3,}(?=[^`\n]*$)|~{3,})[^\n]*$", re.MULTILINE)
"""At any depth: one in a list is indented, and what is indented without a list is code, too.
More backticks on the line of an opening one make it code within a line."""


def fenced(text: str, start: int = 0) -> Iterator[Span]:
    """Yield where fenced blocks stand; one that is never closed ends with the text."""
    at = start
    while (opened := _FENCE.search(text, at)) is not None:
        end = len(text)
        for closing in _FENCE.finditer(text, opened.end()):
            if closing[0].strip() == closing[1] and closing[1].startswith(opened[1]):
                end = closing.end()
                break
        yield Span(opened.start(), end)
        at = end


def outside_fences(text: str) -> str:
    """Return the text with fenced blocks and code within lines left out."""
    parts, at = [], 0
    for span in fenced(text):
        parts.append(text[at : span.start])
        at = span.end
    return CODE.sub("", "".join([*parts, text[at:]]))
