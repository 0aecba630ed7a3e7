"""One thing in another's place in Chinese: texts that are alike but for a stretch.

Characters are aligned, not words: there is no dictionary to cut a text with. Synonyms are made one
before, politeness, particles and ways to ask are taken off.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import cache

from kvaudit.replay.semantic.guards.alike import synonyms
from kvaudit.replay.semantic.guards.apart import are_near
from kvaudit.replay.semantic.guards.words import HAN_EMPTY, HAN_POLITE

_NUMERALS = re.compile("[0-9零〇一二三四五六七八九十百千万亿两]+")
_WEEKDAY = re.compile("(?:周|星期|礼拜)[一二三四五六日天]")
_WHICH = re.compile(
    "为什么|几时|何时|何处|何地|是什么|什么样|什么|是不是|有没有|能不能|可不可以|多少|哪(?:里|儿|些|个城市|[个座天位家款年国条种部本首所间只台])?"
)
_NEGATIVE = re.compile("[不没未无勿别非忘]|无法|失败|成功")
"""Another kind's business."""
MOST_APART = 0.65
"""Share of the longer text that may differ; with more it is worded anew."""
MOST_CHARACTERS = 6
"""Of a name or a thing; a longer stretch is a sentence worded anew."""
VERB_CHARACTERS = 3
ASKING = "\uf8f0"
"""Stands for a word that asks how, or whether one may."""
_HOW = re.compile(
    "(?:如何|怎样|怎么样|怎么|应该|可不可以|能不能|可以|能够|能|该|想|要)+(?:才能|才)?"
)
PRIVATE = 0xE000
"""First of the characters that stand for a group of synonyms."""


def han_replaced(a: str, b: str) -> bool:
    """Return whether two texts are alike but for a stretch that stands for something else."""
    first, second = han_sentence(a), han_sentence(b)
    if not first or not second or not are_near(first, second):
        return False
    edits = _edits(first, second)
    if len(edits) != 1:
        return False  # texts that differ in more places are worded anew
    ((one, other, verb),) = edits
    if max(len(_bare(one)), len(_bare(other))) > MOST_APART * max(len(first), len(second)):
        return False
    return _are_other(one, other, first, second) and not (verb and _is_unknown(one, other))


def _bare(stretch: str) -> str:
    return stretch.replace(ASKING, "")


def _is_unknown(one: str, other: str) -> bool:
    """Return whether the thesaurus lacks either of two words: known ones are known to differ."""
    _, marks = _groups()
    words = (_bare(one), _bare(other))
    if max(map(len, words)) > VERB_CHARACTERS or not all(words):
        return False
    return not all(word in marks or word[0] >= chr(PRIVATE) for word in words)


def _edits(first: str, second: str) -> list[tuple[str, str, bool]]:
    """Return what differs, and whether a verb stands there: behind a word that asks how.

    A single character in common inside a word is by chance.
    """
    found: list[tuple[str, str, bool]] = []
    start = start_b = 0
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    blocks = matcher.get_matching_blocks()
    for block in blocks:
        at_end = block.a == len(first) or block.b == len(second)
        inside = block.size == 1 and block.a > 0 and block.a + 1 < len(first)
        if inside and block.a > start and block.b > start_b and not at_end:
            continue
        if block.a > start or block.b > start_b:
            one, other = first[start : block.a], second[start_b : block.b]
            verb = _is_asked(first, start) and _is_asked(second, start_b)
            found.append((one, other, verb))
        start, start_b = block.a + block.size, block.b + block.size
    return found


def _is_asked(text: str, start: int) -> bool:
    """Return whether a word that asks how stands right before a place, or at it."""
    return ASKING in text[max(0, start - 1) : start + 1]


def _are_other(one: str, other: str, first: str, second: str) -> bool:
    one, other = _bare(one), _bare(other)
    if max(len(one), len(other)) > MOST_CHARACTERS:
        return False
    own, others = _marks(one), _marks(other)
    # What only changed its place is in both texts.
    return bool(own - others - set(second)) and bool(others - own - set(first))


def _marks(stretch: str) -> set[str]:
    _, marks = _groups()
    return {marks.get(c, c) for c in _NEGATIVE.sub("", HAN_EMPTY.sub("", stretch))}


def han_sentence(text: str) -> str:
    """Return the text without politeness and what only asks; synonyms as one character."""
    text = _WHICH.sub("", _HOW.sub(ASKING, HAN_POLITE.sub("", text.lower())))
    text = _WEEKDAY.sub("", text)  # which day, and which number, is another kind's business
    text = _NUMERALS.sub(lambda match: "" if match[0] == "一" else "#", text)
    return re.sub("[^\\w#\ue000-\uf8ff]|[的了吗呢吧啊呀是才算就都]", "", _canonical(text))


@cache
def _groups() -> tuple[re.Pattern[str], dict[str, str]]:
    """Return a pattern of all synonyms, the longest first, and the character of each one's group.

    A word of several groups goes with the first.
    """
    marks: dict[str, str] = {}
    for number, group in enumerate(synonyms("chinese")):
        for word in group:
            marks.setdefault(word, chr(PRIVATE + number))
    words = sorted((word for word in marks if len(word) > 1), key=lambda word: (-len(word), word))
    return re.compile("|".join(words)), marks


@cache
def _canonical(text: str) -> str:
    pattern, marks = _groups()
    text = pattern.sub(lambda match: marks[match[0]], text)
    return marks.get(text, text)
