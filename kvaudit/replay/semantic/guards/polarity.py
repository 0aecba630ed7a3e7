"""Negation, opposites, and direction: the same words that ask the contrary.

Opposites are pairs of common words, and any word beside the same word with a prefix that turns
it round. A pair counts where one text has one side of it and the other text the other.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import resources

from kvaudit.replay.semantic.guards.facts import Facts
from kvaudit.replay.semantic.guards.words import listed

_NEGATIVE = listed(
    """
    arent cannot cant couldnt didnt doesnt dont except excluding hasnt havent isnt neither never no
    nobody none nor not nothing nowhere shouldnt wasnt werent without wont wouldnt
    """
)
_NO_NEGATION = re.compile(
    r"\b(?:no longer than|not only|why not|no problem|if not|or not|whether or not|no doubt|"
    r"no matter|can't i|don't i|isn't it|doesn't it|didn't i|don't you|not sure|don't know|"
    r"(?:can't|cannot|can not) (?:find|remember|log|sign|access|see|get)|don't remember|"
    r"not working|(?:am|is|are) not able)\b",
    re.IGNORECASE,
)
_HAN_NEUTRAL = re.compile(
    "([\u3400-\u9fff])[不没]\\1|([\u3400-\u9fff][\u3400-\u9fff])[不没]\\2|有没有|是否|不错|不过|不同|不仅|不但|"
    "不知道?|不好意思|差不多|对不起|了不起|没关系|没问题|不管|不论|不得不|不一样|不断|不久|不然|"
    "不少|不如|未来|没事|要不|不太清楚|不懂|不明白|不会用|找不到|打不开|登不上|用不了|不了|"
    "不到账|不成功|不见了|非常|除非|并非如此|非洲|是非|别的|别人|特别|区别|级别|类别|性别|分别|识别|无线|"
    "无人机|免费"
)
_HAN_NEGATIVE = re.compile("不|没|未|别|勿|无法|无需|无须|禁止|严禁|非(?=[\u3400-\u9fff])|除了")


@cache
def _pairs(language: str) -> list[tuple[str, str]]:
    text = resources.files(__package__).joinpath("opposites.toml").read_text("utf-8")
    return [(one, other) for one, other in tomllib.loads(text)[language]]


@cache
def _opposites() -> dict[str, set[str]]:
    """Return the opposites of every English word that has one."""
    found: dict[str, set[str]] = {}
    for one, other in _pairs("english"):
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return found


_PREFIXES = ("un", "dis", "in", "im", "il", "ir", "non", "de", "mis", "anti")
_STEM = re.compile(r"(?<=[a-z]{3})(?:ing|ed|es|s|d)$")

_HAN_NEGATED = re.compile("[不没未]([\u3400-\u9fff]{2})")
"""What is negated is its opposite's equal, and no opposite of it."""
_FROM_TO = re.compile(
    r"\bfrom\s+(.+?)\s+(?:in)?to\s+(.+?)(?=[?.!,;]|$|\s(?:in|for|with|using|on)\s)", re.I
)
_SIDES = re.compile(
    r"([\w.$£€-]+(?:\s[\w.-]+)?)\s+(?:in)?(?:to|into|than|versus|vs|before|after|over|owe|owes|beats?)\s+"
    r"((?:an?\s|the\s|my\s)?[\w.$£€-]+(?:\s[\w.-]+)?)",
    re.I,
)
_HAN_SIDES = re.compile(
    "(?:从|把|将|由)?([\u3400-\u9fffA-Za-z0-9.]{1,12}?)"
    "(?:翻译成|转换成|换算成|转换为|转成|换成|改成|变成|兑换成|兑换|兑|迁移到|升级到|降级到|转到|寄到|飞到|飞往|到|至|比|转)"
    "([\u3400-\u9fffA-Za-z0-9.]{1,12})"
)


def negations(facts: Facts) -> int:
    """Return how often a text negates; questions of the form A-not-A do not."""
    text = _NO_NEGATION.sub(" ", facts.text.replace("'", "'"))
    words = re.findall(r"[a-z]+(?:'[a-z]+)?", text.lower())
    count: int = sum(word in _NEGATIVE or word.endswith("n't") for word in words)
    if facts.has_han:
        count += len(_HAN_NEGATIVE.findall(_HAN_NEUTRAL.sub(" ", text)))
    return count


def opposed(a: Facts, b: Facts) -> bool:
    """Return whether one text has a word and the other its opposite instead."""
    return _words_opposed(set(a.words), set(b.words)) or (
        a.has_han and b.has_han and _han_opposed(a.text, b.text)
    )


def _words_opposed(a: set[str], b: set[str]) -> bool:
    only_a, only_b = a - b, b - a
    stems_b = {_stem(word) for word in only_b}
    for word in only_a:
        stem = _stem(word)
        opposites = _opposites().get(word, set()) | _opposites().get(stem, set())
        if opposites & (only_b | stems_b):
            return True
        if any(_turned(stem, other) or _turned(other, stem) for other in stems_b):
            return True
    return False


def _stem(word: str) -> str:
    return _STEM.sub("", word)


def _turned(word: str, other: str) -> bool:
    """Return whether ``other`` is the word behind a prefix that turns it round."""
    if len(word) < 4 or not other.endswith(word):
        return False
    return other.removesuffix(word) in _PREFIXES


def _han_opposed(a: str, b: str) -> bool:
    """Return whether what differs between two texts is a pair of opposites."""
    a, b = (_HAN_NEGATED.sub("", text.replace("取消订阅", "退订")) for text in (a, b))
    for one, other in _pairs("chinese"):
        for x, y in ((one, other), (other, one)):
            if (
                x in a
                and y in b
                and y not in a
                and x not in b
                and (len(x) > 1 or a.replace(x, y) == b)
            ):
                return True
    return False


def turned_round(a: Facts, b: Facts) -> bool:
    """Return whether what stands left of a preposition in one text stands right in the other."""
    first = list(_sides(a))
    return any((y, x) in first and x != y for x, y in _sides(b))


def _sides(facts: Facts) -> Iterator[tuple[str, str]]:
    text = facts.text
    for pattern in (_FROM_TO, _SIDES):
        for left, right in pattern.findall(text):
            yield _core(left), _core(right)
            yield _core(left).split(" ")[-1], _core(right).split(" ")[0]
    if facts.has_han:
        for left, right in _HAN_SIDES.findall(text):
            for width in range(1, min(len(left), len(right)) + 1):
                yield left[-width:], right[:width]


def _core(side: str) -> str:
    return re.sub(r"^(?:an?|the|my|your|our)\s+", "", side.strip().lower())
