"""Transport data in the system text: a header line with a value that changes.

Some clients send such a line as the first text of a request; an endpoint that does not take it
out hashes it with everything behind it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kvaudit.analyzers.template.pieces import Piece
from kvaudit.core.document import Origin

_HEADER = re.compile(r"\s*(?:x-[a-z][\w-]*|[\w-]+-header)\s*:[^\n]*\Z", re.IGNORECASE)


def with_transport(pieces: Sequence[Piece]) -> list[Piece]:
    """Name what stands on a header line at the very start of the system text."""
    marked = list(pieces)
    line = ""
    for index, piece in enumerate(pieces):
        if piece.expression is None:
            line += piece.text or ""
            if "\n" in line.lstrip():
                break
        elif _HEADER.match(line) and piece.value.origin is not Origin.CONSTANT:
            marked[index] = replace(piece, value=replace(piece.value, origin=Origin.TRANSPORT))
    return marked
