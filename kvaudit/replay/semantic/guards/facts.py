"""A text read once: its words, and what each part of the entity rule finds in them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field

_WORD = re.compile(
    r"[A-Za-zÀ-ɏ]+(?:['’][A-Za-z]+)*|\d+(?:[.,:/-]\d+)*%?|[\u3400-\u9fff]|[^\W\d_]+", re.UNICODE
)


@dataclass(slots=True)
class Facts:
    """What is compared of a text."""

    text: str
    """Compatibility characters folded, as full-width digits are; case kept."""
    words: list[str]
    """In lower case; a Han character is a word."""
    spelled: list[str]
    """The same as written."""
    has_han: bool
    numbers: Counter[str] = field(default_factory=Counter)
    identifiers: frozenset[str] = frozenset()
    units: frozenset[str] = frozenset()
    dates: frozenset[str] = frozenset()
    negations: int = 0

    @classmethod
    def read(cls, text: str) -> Facts:
        """Split a text into words."""
        text = unicodedata.normalize("NFKC", text).replace("’", "'")
        spelled = _WORD.findall(text)
        return cls(
            text=text,
            words=[word.lower() for word in spelled],
            spelled=spelled,
            has_han=re.search("[\u3400-\u9fff]", text) is not None,
        )
