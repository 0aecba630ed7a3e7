"""Front matter: what stands between two lines of ``---`` before a prompt."""

from __future__ import annotations

import re
from typing import NamedTuple

from kvaudit.core.sources import Source, Span

MAX_LEAD = 4_000
"""Licence comments may stand before the front matter; more than this is text."""

_LEAD = re.compile(r"(?:[ \t]*+(?:#[^\n]*+|<!--[^\n]*+-->|//[^\n]*+)?\r?\n)*+")
_RULE = re.compile(r"---[ \t]*\r?\n")
_END = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_MODEL = re.compile(
    r"^[ \t]*(?:model|azure_deployment|deployment(?:_name)?|id)[ \t]*:[ \t]*[\"']?([\w./:-]+)",
    re.MULTILINE,
)


class Parted(NamedTuple):
    """A file's front matter and its body."""

    head: str
    """Empty where there is none."""
    body: Span


def parted(source: Source) -> Parted:
    """Return the front matter, without its lines of ``---``, and where the body stands."""
    text = source.text
    lead = _LEAD.match(text, 0, MAX_LEAD)
    start = lead.end() if lead and text.startswith("---", lead.end()) else 0
    opened = _RULE.match(text, start)
    closed = _END.search(text, opened.end()) if opened else None
    if opened is None or closed is None:
        return Parted("", Span(0, len(text)))
    return Parted(text[opened.end() : closed.start()], Span(closed.end(), len(text)))


def model_of(head: str) -> str | None:
    """Return the model that front matter names."""
    found = _MODEL.search(head)
    return None if found is None else found[1]
