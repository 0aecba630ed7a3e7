"""Takes out the flag that turns an engine's prefix cache off, or says true where false stood.

The engine computes the same answers either way, so the fix is safe where nothing else speaks for
the flag: an error is that case, and what is milder (another store beside it, an engine that only
decodes) is left to a person. Where a flag cannot be taken out without touching its neighbours,
there is no fix.
"""

from __future__ import annotations

import re

from kvaudit.core.findings import Edit, Finding, Fix, Severity
from kvaudit.core.sources import Span

_FLAG = re.compile(r"([\"']?)--(no-enable-prefix-caching|disable-radix-cache)\1")
_SETTING = re.compile(
    r"(?:enable_?block_?reuse|enable_?prefix_?caching|enable_?kv_?cache_?reuse)\s*[:=]\s*(false)",
    re.IGNORECASE,
)
_OFF = re.compile(r"(?:disable_?radix_?cache)\s*[:=]\s*(true)", re.IGNORECASE)


def fix(finding: Finding) -> Fix | None:
    """Return the fix, where the place is one flag or one setting and nothing else."""
    text, span = finding.source.text, finding.span
    found = text[span.start : span.end]
    edit: tuple[Span, str] | None = None
    if _FLAG.fullmatch(found):
        taken = _without(text, span)
        edit = None if taken is None else (taken, "")
    else:
        for pattern, word in ((_SETTING, "true"), (_OFF, "false")):
            if (said := pattern.fullmatch(found)) is not None:
                place = Span(span.start + said.start(1), span.start + said.end(1))
                edit = (place, word.capitalize() if said[1][0].isupper() else word)
    if edit is None:
        return None
    change = Edit(source=finding.source, span=edit[0], replacement=edit[1])
    certain = finding.severity is Severity.ERROR
    return Fix(title="turn the prefix cache on", edits=[change], safe=certain)


def _without(text: str, span: Span) -> Span | None:
    """Return what to take out with a flag: its line, its comma or its blank; None in doubt."""
    start = text.rfind("\n", 0, span.start) + 1
    end = text.find("\n", span.end)
    end = len(text) if end < 0 else end
    before, behind = text[start : span.start], text[span.end : end]
    if re.fullmatch(r"\s*-\s+", before):
        alone = not behind.strip() and _has_sibling(text, start, end)
        return Span(start, min(end + 1, len(text))) if alone else None
    if not before.strip():
        return _of_continued(text, start, span, end)
    if before.rstrip().endswith(","):
        return Span(start + len(before.rstrip()) - 1, span.end)
    if before[-1] in " \t" and (not behind or behind[0] in " \t\r\"'"):
        return Span(start + len(before.rstrip()), span.end)
    return None


def _has_sibling(text: str, start: int, end: int) -> bool:
    """Whether the list that a line is an item of has another, so that it is not left empty."""
    indent = re.match(r"[ \t]*-", text[start:])
    mark = "" if indent is None else indent[0]
    above = text[:start].rstrip("\n").rpartition("\n")[2]
    below = text[end + 1 :].partition("\n")[0]
    return above.startswith(mark + " ") or below.startswith(mark + " ")


def _of_continued(text: str, start: int, span: Span, end: int) -> Span | None:
    """Return the same of a flag that begins a line of a command in several lines."""
    goes_on = re.fullmatch(r"[ \t]*\\[ \t]*\r?", text[span.end : end]) is not None
    above = re.search(r"[ \t]*\\\r?\n\Z", text[:start])
    if goes_on and above is not None:
        return Span(start, end + 1)
    if not text[span.end : end].strip():
        return None if above is None else Span(above.start(), span.end)
    blank = re.match(r"[ \t]+(?=\S)", text[span.end : end])
    return None if blank is None or above is not None else Span(span.start, span.end + blank.end())
