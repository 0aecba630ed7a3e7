"""Prints the elements of a Jinja generator, where its address would be printed.

Not safe: the text of every prompt changes, as it should.
"""

from __future__ import annotations

import re

from kvaudit.core.findings import Edit, Finding, Fix
from kvaudit.core.sources import Span

_END = re.compile(r"\s*[-+]?\}\}\Z")


def fix(finding: Finding) -> Fix | None:
    """Return the fix, where the finding points at a tag of Jinja."""
    shown = finding.source.text[slice(*finding.span)]
    closing = _END.search(shown)
    if not shown.startswith("{{") or closing is None:
        return None
    at = finding.span.start + closing.start()
    edit = Edit(source=finding.source, span=Span(at, at), replacement=' | join(", ")')
    return Fix(title="join the elements", edits=[edit], safe=False)
