"""Text that changes on purpose, so that no cache is hit: a comment beside it says so."""

from __future__ import annotations

import re

from kvaudit.core.document import Segment
from kvaudit.core.sources import Source

_LINES_ABOVE = 3
_SAYS_SO = re.compile(
    r"(?:#|//|/?\*).*?(?:"
    r"\b(?:avoid|prevent|bypass|defeat|bust|evade|disable|skip|escape)(?:s|ing)?\s+"
    r"(?:(?:the|any|all|a|prompt|response|kv|prefix|accidental|unwanted)\s+)*cach(?:e|es|ing)\b"
    r"(?!\s+(?:miss|break|invalid|bust|thrash|churn|writes?))"
    r"|\bcache[- ]bust)",
    re.IGNORECASE,
)


def is_meant(segment: Segment) -> bool:
    """Whether a comment at a segment, or where its value arises, says that no cache shall hit."""
    places = [(segment.source, segment.span.start)]
    places += [(step.source, step.span.start) for step in segment.trail]
    return any(_says_so(source, at) for source, at in places)


def _says_so(source: Source, at: int) -> bool:
    line = source.place(at).line
    first = max(1, line - _LINES_ABOVE)
    return any(_SAYS_SO.search(source.line(number)) for number in range(first, line + 1))
