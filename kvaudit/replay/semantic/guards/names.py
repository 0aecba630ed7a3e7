"""One thing put in another's place: proper names, and words in texts that are otherwise alike.

Names are capitalised words away from the start of a sentence. Where two sentences are the same but
for one or two places, what stands there instead is another thing, unless it is a spelling of the
same word, a common synonym, or a word that carries nothing. Sentences worded anew are not aligned.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import cache

from kvaudit.replay.semantic.guards.facts import Facts
from kvaudit.replay.semantic.guards.words import (
    CONTRACTED,
    DEMONYMS,
    EMPTY,
    HAN_EMPTY,
    HAN_HOW,
    HAN_POLITE,
    NEGATED,
    POLITE,
    SYNONYMS,
    UNSPELLED,
)

_NUMERALS = re.compile("[0-9零〇一二三四五六七八九十百千万亿两]+")
MOST_CHANGES = 2
"""Places where two sentences differ; with more they are worded anew, and nothing is aligned."""
SAME_SENTENCE = 0.6
"""Share of words in the same order, from which on two sentences count as aligned."""
MOST_WORDS = 2
LONG_WORD = 5
SAME_SPELLING = 0.86


def names_differ(a: Facts, b: Facts) -> bool:
    """Return whether the texts name different things."""
    first, second = _names(a), _names(b)
    shared = first & second
    if first - shared - _singular(b.words) and second - shared - _singular(a.words):
        return True
    if a.has_han and b.has_han:
        return _han_replaced(a.text, b.text)
    return _replaced(_sentence(a), _sentence(b))


def _names(facts: Facts) -> set[str]:
    """Return capitalised words that do not open a sentence, in lower case."""
    inner = re.findall(r"(?<![.!?:]\s)(?<=\s)['\"(]?([A-ZÀ-Þ][\w'-]*)", facts.text)
    return {
        DEMONYMS.get(name := word.lower().removesuffix("'s"), name).removesuffix("s")
        for word in inner
        if word.lower() not in EMPTY and not word.startswith("I'")
    }


def _singular(words: list[str]) -> set[str]:
    return {word.removesuffix("'s").removesuffix("s") for word in words}


def _sentence(facts: Facts) -> list[str]:
    """Return the words without politeness, contractions written out."""
    words: list[str] = []
    for word in facts.words:
        word = UNSPELLED.get(word, word)
        word, _, short = word.partition("'")
        words += [NEGATED.get(word, word.removesuffix("n")), "not"] if short == "t" else [word]
        if short in CONTRACTED:
            words.append(CONTRACTED[short])
    return [word for word in words if word not in POLITE]


def _replaced(a: list[str], b: list[str]) -> bool:
    """Return whether the sentences are the same but for other things in the same places."""
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if matcher.ratio() < SAME_SENTENCE:
        return False
    edits = [edit for edit in matcher.get_opcodes() if edit[0] != "equal"]
    if not 1 <= len(edits) <= MOST_CHANGES:
        return False
    all_a, all_b = _content(a), _content(b)
    # What only changed its place or its ending is in both.
    own = {w for w in all_a if not any(_alike(w, other) for other in all_b)}
    others = {w for w in all_b if not any(_alike(w, other) for other in all_a)}
    return any(
        _are_other(_content(a[s:e]), _content(b[t:f]), own | others, replaced=kind == "replace")
        for kind, s, e, t, f in edits
    )


def _are_other(one: set[str], other: set[str], moved: set[str], *, replaced: bool) -> bool:
    """Return whether a stretch names another thing, or one that the other text leaves out."""
    own, others = one & moved, other & moved
    if max(len(own), len(others)) > MOST_WORDS:
        return False
    if own and others:
        return True
    # One word that names nothing in place of one that does is a turn of phrase.
    return bool(own or others) and (not replaced or bool(one and other))


def _content(words: list[str]) -> set[str]:
    return {word for word in words if word not in EMPTY and len(word) > 1}


def _alike(a: str, b: str) -> bool:
    """Return whether two words may stand for the same thing."""
    if a == b or _root(a) == _root(b):
        return True
    if any({a, _root(a)} & group and {b, _root(b)} & group for group in _GROUPS):
        return True
    if min(len(a), len(b)) >= LONG_WORD and a[0] == b[0] and not a[-1].isdigit():
        # A slip of the finger changes a letter inside a long word.
        return SequenceMatcher(None, a, b).ratio() >= SAME_SPELLING
    return False


@cache
def _root(word: str) -> str:
    for ending in ("ation", "ies", "ing", "ied", "ion", "es", "ed", "s", "d", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def _han_replaced(a: str, b: str) -> bool:
    """Return whether two texts are alike but for one stretch that stands for something else."""
    first, second = _han_sentence(a), _han_sentence(b)
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    edits = [edit for edit in matcher.get_opcodes() if edit[0] != "equal"]
    common = sum(block.size for block in matcher.get_matching_blocks())
    if len(edits) != 1 or common < 2 or 2 * common < min(len(first), len(second)):
        return False
    kind, start, end, start_b, end_b = edits[0]
    one, other = (HAN_EMPTY.sub("", part) for part in (first[start:end], second[start_b:end_b]))
    return kind == "replace" and bool(one and other) and max(len(one), len(other)) <= 6


def _han_sentence(text: str) -> str:
    """Return the text without politeness and punctuation, one word for every way to ask how."""
    text = HAN_HOW.sub("怎么", HAN_POLITE.sub("", text.lower()))
    text = _NUMERALS.sub("#", text)  # which numbers they are is another kind's business
    return re.sub(r"[^\w#]", "", text)


_GROUPS = [group | {_root(word) for word in group} for group in SYNONYMS]
