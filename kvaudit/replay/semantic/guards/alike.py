"""Whether two English words may stand for the same thing: endings, slips of the finger, synonyms.

The thesaurus is `synonyms.toml`; its phrases are joined to one word before texts are aligned.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from importlib import resources

from kvaudit.replay.semantic.guards.polarity import opposite_words

_ENDINGS: tuple[str, ...] = (
    "ations",
    "ation",
    "ments",
    "ment",
    "ings",
    "ing",
    "ies",
    "ied",
    "ions",
    "ion",
    "ers",
)
_ENDINGS += ("ally", "ly", "al", "er", "es", "ed", "s", "d", "e", "y")
SHORTEST_ROOT = 3
_IRREGULAR = {
    form: base
    for base, forms in {
        "be": "been being was were is are am",
        "begin": "began begun",
        "break": "broke broken",
        "bring": "brought",
        "build": "built",
        "buy": "bought",
        "choose": "chose chosen",
        "come": "came",
        "do": "did done does",
        "draw": "drew drawn",
        "drink": "drank drunk",
        "eat": "ate eaten",
        "fall": "fell fallen",
        "find": "found",
        "forget": "forgot forgotten",
        "get": "got gotten getting",
        "give": "gave given",
        "go": "went gone goes",
        "grow": "grew grown",
        "hold": "held",
        "keep": "kept",
        "know": "knew known",
        "leave": "left",
        "lose": "lost losing",
        "make": "made",
        "pay": "paid",
        "run": "ran running",
        "say": "said",
        "see": "saw seen",
        "sell": "sold",
        "send": "sent",
        "set": "setting",
        "show": "shown",
        "speak": "spoke spoken",
        "split": "splitting",
        "steal": "stole stolen",
        "take": "took taken",
        "tell": "told",
        "think": "thought",
        "write": "wrote written",
    }.items()
    for form in forms.split()
}
TYPO_LENGTH = 5
LONG_WORD = 9
"""From here on a hurried hand may slip twice."""


@cache
def root(word: str) -> str:
    """Return a word without its ending; only to compare words with one another."""
    word = _IRREGULAR.get(word, word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_ROOT:
            word = word.removesuffix(ending)
            break
    # stopped and stop, planning and plan
    return word[:-1] if len(word) > SHORTEST_ROOT and word[-1] == word[-2] else word


@cache
def _thesaurus() -> dict[str, frozenset[int]]:
    """Return the groups of every word, and of every root."""
    found: dict[str, set[int]] = {}
    for number, group in enumerate(synonyms("english")):
        for word in group:
            found.setdefault(word, set()).add(number)
            found.setdefault(root(word), set()).add(number)
    return {word: frozenset(groups) for word, groups in found.items()}


@cache
def synonyms(language: str) -> list[list[str]]:
    """Return the groups of words that stand for one another."""
    text = resources.files(__package__).joinpath("synonyms.toml").read_text("utf-8")
    return [group.split() for group in tomllib.loads(text)[language]]


@cache
def _phrases() -> dict[tuple[str, ...], str]:
    """Return the phrases by the roots of their words."""
    phrases = [word for group in synonyms("english") for word in group if "_" in word]
    return {tuple(root(part) for part in phrase.split("_")): phrase for phrase in phrases}


def joined(words: Sequence[str]) -> list[str]:
    """Return the words with every known phrase as one."""
    found: list[str] = []
    place = 0
    while place < len(words):
        for width in (3, 2):
            phrase = _phrases().get(tuple(root(word) for word in words[place : place + width]))
            if phrase is not None and place + width <= len(words):
                found.append(phrase)
                place += width
                break
        else:
            found.append(words[place])
            place += 1
    return found


@cache
def alike(a: str, b: str) -> bool:
    """Return whether two words may stand for the same thing."""
    if a == b:
        return True
    if opposite_words(a, b):
        return False
    if root(a) == root(b) or _groups(a) & _groups(b):
        return True
    return is_slip(a, b)


def is_known(word: str) -> bool:
    """Return whether the thesaurus has the word, and no phrase: those are loose."""
    return bool(_groups(word)) and "_" not in word


def _groups(word: str) -> frozenset[int]:
    return _thesaurus().get(word) or _thesaurus().get(root(word)) or frozenset()


def is_slip(a: str, b: str) -> bool:
    """Return whether the one may be the other mistyped: a letter or two inside a long word."""
    shorter = min(len(a), len(b))
    if shorter < TYPO_LENGTH or a[0] != b[0] or a[-1].isdigit() or b[-1].isdigit():
        return False
    most = 2 if shorter >= LONG_WORD else 1
    return abs(len(a) - len(b)) <= most and distance(a, b) <= most


def distance(a: str, b: str) -> int:
    """Return how many letters to add, drop, change or swap with the next one (Damerau 1964)."""
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            best = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if before and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        before, last = last, row
    return last[-1]
