"""How the texts begin that fill in one template: by a label, up to what differs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from kvaudit.analyzers.divergence.slots import SLOT, length

LEAST_LABEL = 3
"""Characters of a beginning that tells a template."""
_LABEL_OF_LINE = re.compile(r"[^\d\n:：=]*(?:[:：=]|(?=\d))")
_WORD_END = re.compile(r"[^\W\u2e80-\ua4cf]+\Z")
"""A word that may go on; Chinese and Japanese write no spaces between them."""


def often(votes: Counter[str], least: float) -> list[str]:
    """Return the beginnings that more than so many pairs show, a longer one with its shorter."""
    heads: list[str] = []
    for head in sorted(votes, key=len):
        within = next((shorter for shorter in heads if head.startswith(shorter)), None)
        if within is None:
            heads.append(head)
        else:
            votes[within] += votes[head]
    return [head for head in heads if length(head) >= LEAST_LABEL and votes[head] > least]


def label_of_line(text: str) -> str:
    """Return the label of a line that nothing is compared with: up to a colon, or to a number."""
    found = _LABEL_OF_LINE.match(text)
    return found[0] if found else ""


def label_of(text: str) -> str:
    """Return the beginning of a text up to its first number, or its last whole word."""
    digit = re.search(r"\d", text)
    return _WORD_END.sub("", text[: digit.start()] if digit else text)


def labels_of(templates: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Return what lines of such words begin with, where that is enough to tell them."""
    heads = ("".join(words[: words.index(SLOT)]) for words in templates if SLOT in words)
    return tuple(label for head in heads if length(label := head.lstrip()) >= LEAST_LABEL)
