"""Direction: the same words with two things in each other's place.

Where two texts have a beginning and an end in common and between them X M Y against Y M X, they
ask the contrary, unless M only joins its sides, as "and" does, or is nothing: what moved to the
front of a sentence has turned nothing round.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvaudit.replay.semantic.guards.alike import root
from kvaudit.replay.semantic.guards.facts import Facts
from kvaudit.replay.semantic.guards.words import HAN_POLITE, POLITE, listed

_ARTICLES = listed("a an the my your our his her their its")
_JOINING = listed("and or & vs versus with nor between both , either")
_HAN_JOINING = re.compile("怎么|什么|为什么|和|与|跟|或|及|还是|或者|以及|同|、|对比")
LONGEST_SIDE = 12
"""Words of a side, or characters in Chinese."""


def swapped(a: Facts, b: Facts) -> bool:
    """Return whether two things have changed places."""
    if a.has_han and b.has_han:
        return _han_swapped(_han(a.text), _han(b.text))
    return _words_swapped(_words(a), _words(b))


def _words(facts: Facts) -> list[str]:
    return [root(word) for word in facts.words if word not in _ARTICLES and word not in POLITE]


def _words_swapped(a: Sequence[str], b: Sequence[str]) -> bool:
    if a == b or sorted(a) != sorted(b):
        return False
    middle = _turned(a, b, longest=LONGEST_SIDE)
    return middle is not None and not set(middle) <= _JOINING


def _han(text: str) -> str:
    return re.sub(r"[^\w]|[的了吗呢吧啊呀]", "", HAN_POLITE.sub("", text.lower()))


def _han_swapped(a: str, b: str) -> bool:
    if a == b or sorted(a) != sorted(b):
        return False
    middle = _turned(a, b, longest=LONGEST_SIDE)
    if middle is None:
        return False
    return bool(_HAN_JOINING.sub("", "".join(middle)))


def _turned(a: Sequence[str], b: Sequence[str], *, longest: int) -> Sequence[str] | None:
    """Return M where the texts are X M Y and Y M X but for a common beginning and end."""
    start = next(i for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y)
    end = next(i for i, (x, y) in enumerate(zip(a[::-1], b[::-1], strict=True)) if x != y)
    a, b = a[start : len(a) - end], b[start : len(b) - end]
    for left in range(1, min(longest, len(a) - 2) + 1):
        # Y stands first in b, as long as what follows it is M and then X.
        for right in range(1, min(longest, len(a) - left - 1) + 1):
            if (
                b[:right] == a[len(a) - right :]
                and b[len(b) - left :] == a[:left]
                and b[right : len(b) - left] == a[left : len(a) - right]
            ):
                return a[left : len(a) - right]
    return None
