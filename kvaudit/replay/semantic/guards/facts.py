"""A text read once: its words, and what each part of the entity rule finds in them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field

_WORD = re.compile(
    r"[A-Za-zÀ-ɏ]+(?:['’][A-Za-z]+)*|\d+(?:[.,:/-]\d+)*%?|[\u3400-\u9fff]|[^\W\d_]+", re.UNICODE
)

_GREETING = re.compile(
    r"\bgood (?:morning|afternoon|evening|day)\b[\s,.!]*|(?:早上|上午|中午|下午|晚上)好[\s,.!。]*",
    re.IGNORECASE,
)
_ANSWER = re.compile(r"^\s*(?:yes|no|nope|sure|certainly)\s*[,.;:!]\s*", re.IGNORECASE)
"""To a question that is not in the text."""
LONG_TEXT = 16
"""Words; what is said of so long a text is worded anew in many ways."""


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
    failures: frozenset[str] = frozenset()
    """Words that may stand for a negation, such as lacks."""
    sentence: list[str] = field(default_factory=list)
    """The words as they are aligned: see `names`."""

    @classmethod
    def read(cls, text: str) -> Facts:
        """Split a text into words."""
        text = unicodedata.normalize("NFKC", text).replace("’", "'")
        text = _ANSWER.sub("", _GREETING.sub("", text))
        spelled = _WORD.findall(text)
        return cls(
            text=text,
            words=[word.lower() for word in spelled],
            spelled=spelled,
            has_han=re.search("[\u3400-\u9fff]", text) is not None,
        )
