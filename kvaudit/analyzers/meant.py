"""Text that changes on purpose, so that no cache is hit: a comment beside it says so."""

from __future__ import annotations

import re

from kvaudit.core.document import Segment
from kvaudit.core.sources import Source

_LINES_ABOVE = 3
_LONGEST = 300
"""A longer line is no comment that a person wrote."""
_SIGN = re.compile(r"#|//|/\*|^\s*\*")
_SAYS_SO = re.compile(
    r"\b(?:avoid|prevent|bypass|defeat|bust|evade|disable|skip|escape)(?:s|ing)?\s+"
    r"(?:(?:the|any|all|a|prompt|response|kv|prefix|accidental|unwanted)\s+){0,3}"
    r"cach(?:e|es|ing)\b(?!\s+(?:miss|break|invalid|bust|thrash|churn|writes?))"
    r"|\bcache[- ]bust",
    re.IGNORECASE,
)


def is_meant(segment: Segment) -> bool:
    """Whether a comment at a segment, or where its value arises, says that no cache shall hit."""
    places = [(segment.source, segment.span.start)]
    places += [(step.source, step.span.start) for step in segment.trail]
    return any(_says_so(source, at) for source, at in places)


def _says_so(source: Source, at: int) -> bool:
    last = source.place(at).line
    lines = (source.line(number) for number in range(max(1, last - _LINES_ABOVE), last + 1))
    return any(
        _SAYS_SO.search(line, sign.end())
        for line in lines
        if len(line) <= _LONGEST and (sign := _SIGN.search(line)) is not None
    )
