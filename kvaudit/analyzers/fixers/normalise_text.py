"""Writes a prompt file with one kind of line end, and its characters in composed form.

Not safe: the file's own text changes, and with it what was cached of it.
"""

from __future__ import annotations

import re
import unicodedata

from kvaudit.core.findings import Edit, Finding, Fix
from kvaudit.core.sources import Span

_LINE_END = re.compile(r"\r?\n")


def fix(finding: Finding) -> Fix | None:
    """Return the fix: of the line ends where the finding points at one, else of the word."""
    source = finding.source
    shown = source.text[slice(*finding.span)]
    if shown in ("\r\n", "\n"):
        kept = "\n" if shown == "\r\n" else "\r\n"
        edits = [
            Edit(source=source, span=Span(*found.span()), replacement=kept)
            for found in _LINE_END.finditer(source.text)
            if found[0] == shown
        ]
        return Fix(title="end all lines alike", edits=edits, safe=False)
    edits = [
        Edit(
            source=source,
            span=Span(*word.span()),
            replacement=unicodedata.normalize("NFC", word[0]),
        )
        for word in re.finditer(r"\S+", source.text)
        if not unicodedata.is_normalized("NFC", word[0])
    ]
    return Fix(title="compose the characters", edits=edits, safe=False) if edits else None
