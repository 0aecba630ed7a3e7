"""Negation and opposites: the same words that ask the contrary.

Opposites are pairs of common words, and any word beside the same word with a prefix that turns
it round. A pair counts where one text has one side of it and the other text the other.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources

from kvaudit.replay.semantic.guards.apart import likeness
from kvaudit.replay.semantic.guards.facts import LONG_TEXT, Facts
from kvaudit.replay.semantic.guards.words import listed

_NEGATIVE = listed("except excluding neither never no nobody none nor not nothing nowhere without")
_SHORT_NOT = re.compile(
    r"\b(ca|wo|sha|do|does|did|is|are|was|were|has|have|had|could|would|should|must|need)n'?t\b|"
    r"\bcannot\b",
    re.IGNORECASE,
)
_LONG = {"ca": "can", "wo": "will", "sha": "shall"}
_NO_NEGATION = re.compile(
    r"\b(?:no longer than|not only|why not|no problem|if not|or not|whether or not|no doubt|"
    r"no matter|can not i|do not i|do not you|is not it|does not it|did not i|not sure|"
    r"do not (?:know|remember)|can not (?:find|remember|log|sign|access|see|get)|"
    r"not working|(?:am|is|are) not able)\b",
    re.IGNORECASE,
)
_FAILURES = listed(
    """
    absence absent avoid deny denied exclude excluded excludes fail failed failing fails forget
    forgot forgotten instead lack lacking lacks lost lose missing prevent prevented prevents refuse
    refused refuses rather stop stopped stops unable unavailable impossible invalid
    """
)
_HAN_FAILURES = re.compile("无法|不[了上到开出动通成来去起进]|未能|失败|忘|缺|丢|拒|避免|防止")
_HAN_NEUTRAL = re.compile(
    "([\u3400-\u9fff])[不没]\\1|([\u3400-\u9fff][\u3400-\u9fff])[不没]\\2|有没有|是否|不错|不过|不同|不仅|不但|"
    "不知道?|不好意思|差不多|对不起|了不起|没关系|没问题|不管|不论|不得不|不一样|不断|不久|不然|"
    "不少|不如|未来|没事|要不|不太清楚|不懂|不明白|不会用|找不到|打不开|登不上|用不了|不了|"
    "不到账|不成功|不见了|非常|除非|并非如此|非洲|是非|别的|别人|特别|区别|级别|类别|性别|分别|识别|无线|"
    "无人机|免费"
)
_HAN_NEGATIVE = re.compile(
    "不|没|未|别|勿|无法|无需|无须|禁止|严禁|无(?![线论非数聊奈意人法需须])|非(?=[\u3400-\u9fff])|除了"
)


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


SAME_LONG_TEXT = 0.8
"""Share of words in the same order, from which on a long text is the other one, edited."""
_PREFIXES = ("un", "dis", "in", "im", "il", "ir", "non", "de", "mis", "anti")
_STEM = re.compile(r"(?<=[a-z]{3})(?:ing|ed|es|s|d)$")

_HAN_UNDOING = re.compile("取消|解除|撤销|停止|禁止|拒绝|(?:解|反)(?=[锁绑冻压密禁约聘开选])")
_HAN_NEGATED = re.compile("[不没未]([\u3400-\u9fff]{2})")
"""What is negated is its opposite's equal, and no opposite of it."""


def negations(facts: Facts) -> int:
    """Return how often a text negates; questions of the form A-not-A do not."""
    text = _SHORT_NOT.sub(
        lambda match: _LONG.get(match[1] or "", match[1] or "can") + " not", facts.text
    )
    text = _NO_NEGATION.sub(" ", text)
    count = sum(word in _NEGATIVE for word in re.findall("[a-z]+", text.lower()))
    if facts.has_han:
        count += len(_HAN_NEGATIVE.findall(_HAN_NEUTRAL.sub(" ", text)))
    return count


def failures(facts: Facts) -> frozenset[str]:
    """Return the words of a text that may say the same as a negation does."""
    found = {word for word in facts.words if word in _FAILURES}
    if facts.has_han:
        found |= set(_HAN_FAILURES.findall(facts.text))
    return frozenset(found)


def negated(a: Facts, b: Facts) -> bool:
    """Return whether one text negates what the other does not.

    Where one has a word of failing that the other lacks, that may be its way to negate. Long
    texts are compared only as far as they say the same in the same order.
    """
    if a.negations % 2 == b.negations % 2 or a.failures ^ b.failures:
        return False
    return _say_the_same(a, b) and not _are_opposites(a, b, _NEGATIVE)


def _say_the_same(a: Facts, b: Facts) -> bool:
    if min(len(a.words), len(b.words)) < LONG_TEXT:
        return True
    return likeness(a.words, b.words) >= SAME_LONG_TEXT


@cache
def opposite_words(a: str, b: str) -> bool:
    """Return whether two English words are opposites."""
    return _words_opposed({a}, {b})


def opposed(a: Facts, b: Facts) -> bool:
    """Return whether one text has a word and the other its opposite instead.

    Not where one is negated besides: what is not on is off.
    """
    if a.negations % 2 != b.negations % 2 or not _say_the_same(a, b):
        return False
    return _are_opposites(a, b)


def _are_opposites(a: Facts, b: Facts, without: frozenset[str] = frozenset()) -> bool:
    return _words_opposed(set(a.words) - without, set(b.words) - without) or (
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


def _undone(a: str, b: str) -> bool:
    """Return whether ``a`` is ``b`` with a word in it that undoes the deed."""
    if len(_HAN_UNDOING.findall(a)) != 1 or _HAN_UNDOING.search(b):
        return False
    rest = _HAN_UNDOING.sub("", a)
    return likeness(rest, b) >= SAME_LONG_TEXT


def _han_opposed(a: str, b: str) -> bool:
    """Return whether what differs between two texts is opposites, or a word that undoes."""
    if _undone(a, b) or _undone(b, a):
        return True
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
