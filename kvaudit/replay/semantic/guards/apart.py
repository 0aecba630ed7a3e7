"""How far two texts are apart, before they are aligned: aligning long ones that differ is slow."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

MOST_APART = 100
"""Words or characters between a common beginning and end, of texts that can be aligned."""


def are_near(a: Sequence[str], b: Sequence[str]) -> bool:
    """Return whether texts are short, or the same but for a stretch in the middle."""
    if max(len(a), len(b)) <= MOST_APART:
        return True
    shorter = min(len(a), len(b))
    start = next((i for i in range(shorter) if a[i] != b[i]), shorter)
    end = next((i for i in range(shorter - start) if a[-1 - i] != b[-1 - i]), shorter - start)
    return max(len(a), len(b)) - start - end <= MOST_APART


def likeness(a: Sequence[str], b: Sequence[str]) -> float:
    """Return the share that two texts have in common, in order where that can be told soon."""
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if are_near(a, b):
        return matcher.ratio()
    return matcher.quick_ratio()
