"""White space and Unicode that look alike and are other tokens: mixed line ends, forms."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from kvaudit.core.document import Observation
from kvaudit.core.sources import Source, Span

_LINE_END = re.compile(r"\r?\n")
_WORD = re.compile(r"\S+")


def drift(source: Source) -> Iterator[Observation]:
    """Yield what in a file may be written in two ways, at the first place of each kind."""
    text = source.text
    dos = text.count("\r\n")
    unix = text.count("\n") - dos
    if dos and unix:
        rare = "\r\n" if dos <= unix else "\n"
        first = next(found for found in _LINE_END.finditer(text) if found[0] == rare)
        name = "CRLF" if dos <= unix else "LF"
        yield _seen(source, first.span(), f"{min(dos, unix)} of {dos + unix} lines end in {name}")
    if not text.isascii() and not unicodedata.is_normalized("NFC", text):
        for word in _WORD.finditer(text):
            if not unicodedata.is_normalized("NFC", word[0]):
                yield _seen(source, word.span(), f"{word[0][:20]} is not in composed form (NFC)")
                return


def _seen(source: Source, span: tuple[int, int], detail: str) -> Observation:
    return Observation(kind="whitespace-drift", source=source, span=Span(*span), detail=detail)
