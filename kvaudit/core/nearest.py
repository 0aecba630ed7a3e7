"""The nearest known word to one that was mistyped."""

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches

LISTED_AT_MOST = 12
"""A longer list of known words is no help in an error message."""

NEAR_TIE = 0.05
"""Two words whose likeness differs by less than this may both have been meant."""


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Return up to three known words that look like ``word``, the nearest first.

    Words that are clearly further away than the nearest are left out.
    """
    spelled = {name.casefold(): name for name in known}
    folded = word.casefold()
    near = get_close_matches(folded, spelled, cutoff=0.6)
    likeness = {name: SequenceMatcher(None, name, folded).ratio() for name in near}
    return [spelled[name] for name in near if likeness[name] > likeness[near[0]] - NEAR_TIE]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the end of an error sentence: what may have been meant, or what there is.

    Starts with a semicolon, so that it follows a clause that names ``word``.
    """
    names = sorted(known)
    near = nearest(word, names)
    if near:
        return f"; did you mean {' or '.join(near)}?"
    if len(names) <= LISTED_AT_MOST:
        return f"; known: {', '.join(names)}"
    return ""
