"""Where two texts differ, and what kind of value it is that differs.

A difference is widened to the whole value it lies in, so that two times of day are told apart
from two numbers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice

from kvaudit.core.document import Origin

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_MAX_PRODUCT = 100_000
"""Lines or words of one text times those of the other, above which all is one difference."""
MAX_CHANGES = 40
_STEPS = 20
"""What a counter grows by from one request to the next, at most."""
_LONGEST = 2_000
"""Characters of a value; only encoded bytes and links are longer."""
_BETWEEN = 24
_AROUND = 80
"""How far from a difference the value it belongs to may begin or end."""
_FILLED = re.compile(r"\b(?=[\w-]*\d)[\w-]+\b")
_SAME_PROMPT = 0.5
_WORDS_COUNT = (80, 200_000)
"""Characters of a text for which words in common say something, and cost little."""

_MONTH = (
    # By their whole names: "2 decisions" and "5 markets" begin like months as well.
    r"(?:jan(?:uary?|uari|vier|eiro)?|feb(?:ruary?|ruari|rero|braio)?|mar(?:ch|s|zo)?|apr(?:ile?)?"
    r"|mayo?|jun(?:e|io?|ho)?|jul(?:y|io?|ho)?|aug(?:ust(?:us)?)?"
    r"|sep(?:t(?:embre|ember|iembre)?)?|oct(?:ober|obre|ubre)?|nov(?:embre|ember|embro|iembre)?"
    r"|dec(?:ember|embre)?|märz|mai|okt(?:ober)?|dez(?:ember)?"
    r"|février|avril|juin|juillet|août|décembre"
    r"|enero|abril|agosto|diciembre|gennaio|maggio|giugno|luglio|settembre|ottobre|dicembre"
    r"|fevereiro|março|maio|setembro|outubro|dezembro|maart|mei)(?![^\W\d_])\.?"
)
_WEEKDAY = (
    r"(?:(?:mon(?:day|tag)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:r(?:s(?:day)?)?)?|fri(?:day)?"
    r"|sat(?:urday)?|sun(?:day)?)(?![^\W\d_])"
    r"|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend"
    r"|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
    r"|lunes|martes|miércoles|jueves|viernes|sábado|domingo"
    r"|lunedì|martedì|mercoledì|giovedì|venerdì|sabato|domenica"
    r"|segunda-feira|terça-feira|quarta-feira|quinta-feira|sexta-feira"
    r"|maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag)"
)
_CHINESE_WEEKDAY = r"(?:星期|周|週)[一二三四五六日天]|[月火水木金土日]曜日?|[월화수목금토일]요일"
_DAY = (
    rf"\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{2,4}}"
    rf"|(?:\d{{4}}[年년]\s?)?\d{{1,2}}[月월]\s?\d{{1,2}}[日号號일](?:[\s,,(（]{{0,2}}(?:{_CHINESE_WEEKDAY})[)）]?)?"
    rf"|(?:{_WEEKDAY},?\s+)?(?:{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?"
    rf"|(?:(?:der|den|dem|le|il|el|the)\s+)?\d{{1,2}}(?:st|nd|rd|th|er|\.|º|°)?\s+(?:d[eio]\s+|of\s+)?{_MONTH})"
    rf"(?:,?\s+(?:d[eo]\s+)?\d{{4}})?"
)
_TIME = (
    r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?[ap]\.?m\.?)?(?:\s?(?:z|utc|gmt)|[+-]\d{2}:?\d{2})?"
    r"|\d{1,2}[时時点點시]\s?\d{1,2}[分분](?:\s?\d{1,2}[秒초])?"
)
_CLOCK = re.compile(
    rf"(?:(?P<day>{_DAY})(?:[,t\s]{{1,3}}|\s+at\s+))?(?<![\d:])(?P<time>{_TIME})(?:\s+\d{{4}})?(?![\d:])",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"(?<![\d.])1[5-9]\d{8}(?:\d{3}|\d{6}|\d{9})?(?:\.\d+)?(?!\d)")
_DATE = re.compile(
    rf"(?<![\d.])(?:{_DAY})(?![\d:])|\b{_WEEKDAY}\b|{_CHINESE_WEEKDAY}", re.IGNORECASE
)
_RANDOM = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b"
    r"|\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{16,}\b|\b(?=[A-Z2-7]*\d)[A-Z2-7]{20,}\b"
    r"|\b(?!user|tenant|cust|org|acc|team)[a-z]{2,10}[-_](?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{6,}\b"
    r"|(?<=nonce[=: ])[\w-]+|(?<=nonce: )[\w-]+"
)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
_SIGNED = re.compile(
    r"https?://[^\s\"'<>]{1,2000}[?&](?:X-Amz-[\w-]+|Signature|sig|Expires|token)=[^\s\"'<>]*"
)
_ENCODED = re.compile(r"(?<![\w+/=-])(?:data:[\w/+.-]{1,60};base64,)?[A-Za-z0-9+/_-]{200,}={0,2}")
_NUMBER = re.compile(r"\d{1,12}(?:[.,]\d{1,12}){0,3}")
_COUNTED = re.compile(
    r"\b(?:steps?|turns?|iterations?|attempts?|remaining|left|budget|tokens|used|retry|retries|rounds?"
    r"|messages?|count|cost)\b",
    re.IGNORECASE,
)
_VALUES: tuple[tuple[Origin, re.Pattern[str]], ...] = (
    (Origin.SIGNED_URL, _SIGNED),
    (Origin.SIGNED_URL, _ENCODED),
    (Origin.RANDOM, _RANDOM),
    (Origin.CLOCK, _CLOCK),
    (Origin.CLOCK, _EPOCH),
    (Origin.DATE, _DATE),
    (Origin.OBJECT_REPR, _ADDRESS),
)
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """Characters ``start`` to ``end`` of the later text, and what stood there before."""

    start: int
    end: int
    old: str
    new: str
    origin: Origin | None
    """What kind of value both are; None for other text."""


def changes(old: str, new: str) -> list[Changed]:
    """Return where ``new`` differs from ``old``, in order, each value once.

    Texts that differ in very many places are two texts, and nothing is said of them.
    """
    found: list[Changed] = []
    ranges = list(islice(_differences(old, new), MAX_CHANGES + 1))
    if len(ranges) > MAX_CHANGES:
        return []
    for a, b, c, d in ranges:
        changed = _value(old, a, b, new, c, d)
        last = found[-1] if found else None
        if last is not None and changed.origin is last.origin is None and _near(last, changed, new):
            start, end = last.start, max(changed.end, last.end)
            found[-1] = Changed(
                start=start,
                end=end,
                old=f"{last.old} {changed.old}",
                new=new[start:end],
                origin=None,
            )
        elif last is None or changed.start >= last.end:
            found.append(changed)
    return found


def _near(last: Changed, changed: Changed, text: str) -> bool:
    """Whether two differences are one: a few words of one line between them."""
    between = text[last.end : changed.start]
    return len(between) <= _BETWEEN and "\n" not in between


def value_in(text: str) -> Changed | None:
    """Return the first value of a known kind in a text that had nothing to be compared with."""
    found = [
        (match.start(), number, origin, match)
        for number, (origin, pattern) in enumerate(_VALUES)
        if (match := pattern.search(text)) is not None
    ]
    if not found:
        return None
    _, _, origin, match = min(found, key=lambda entry: entry[:2])
    return Changed(start=match.start(), end=match.end(), old="", new=match[0], origin=origin)


def same_but_for_space(old: str, new: str) -> bool:
    """Whether two texts differ only in white space, line ends, Unicode form or unseen marks."""
    return old != new and _bare(old) == _bare(new)


def _bare(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).translate(_INVISIBLE).split())


def alike(old: str, new: str) -> float:
    """Return how much of two texts is the same at their ends, from 0 to 1; cheap."""
    longest = max(len(old), len(new))
    if longest == 0:
        return 1.0
    head = shared_head(old, new)
    tail = shared_head(old[head:][::-1], new[head:][::-1])
    ends = (head + tail) / longest
    if ends >= 0.5 or not _WORDS_COUNT[0] <= longest <= _WORDS_COUNT[1]:
        return ends
    mine, yours = set(_TOKEN.findall(old)), set(_TOKEN.findall(new))
    return max(ends, len(mine & yours) / max(len(mine | yours), 1))


def one_prompt(old: str, new: str) -> bool:
    """Whether two texts are one prompt filled in twice; numbers and ids in them do not count."""
    return alike(_FILLED.sub("#", old), _FILLED.sub("#", new)) >= _SAME_PROMPT


def without_files(text: str) -> str:
    """Return a text with a mark for each signed address and for the bytes of a file."""
    return _ENCODED.sub("#", _SIGNED.sub("#", text))


def shared_head(old: str, new: str) -> int:
    """Return how many characters two texts begin with in common."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _differences(old: str, new: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield the ranges that differ: by lines first, then within lines that stand for each other."""
    head = shared_head(old, new)
    while head and old[head - 1].isalnum():  # begin at the beginning of a word
        head -= 1
    tail = shared_head(old[head:][::-1], new[head:][::-1])
    while tail and old[len(old) - tail].isalnum():
        tail -= 1
    mine = old[head : len(old) - tail].splitlines(keepends=True)
    yours = new[head : len(new) - tail].splitlines(keepends=True)
    for i, j, k, m in _opcodes(mine, yours):
        a, c = head + sum(map(len, mine[:i])), head + sum(map(len, yours[:k]))
        if j - i != m - k:
            yield a, a + sum(map(len, mine[i:j])), c, c + sum(map(len, yours[k:m]))
            continue
        for before, after in zip(mine[i:j], yours[k:m], strict=True):
            words, others = _TOKEN.findall(before), _TOKEN.findall(after)
            a_at, b_at = _offsets(words, a), _offsets(others, c)
            for w, x, y, z in _opcodes(words, others):
                yield a_at[w], a_at[x], b_at[y], b_at[z]
            a, c = a + len(before), c + len(after)


def _opcodes(mine: list[str], yours: list[str]) -> list[tuple[int, int, int, int]]:
    """Return the runs of two lists that differ; one run where comparing would cost too much."""
    if len(mine) * len(yours) > _MAX_PRODUCT:
        return [(0, len(mine), 0, len(yours))]
    matcher = SequenceMatcher(None, mine, yours, autojunk=False)
    return [(i, j, k, m) for tag, i, j, k, m in matcher.get_opcodes() if tag != "equal"]


def _offsets(tokens: list[str], start: int) -> list[int]:
    offsets = [start]
    for token in tokens:
        offsets.append(offsets[-1] + len(token))
    return offsets


def _value(old: str, a: int, b: int, new: str, c: int, d: int) -> Changed:
    """Widen a difference to the value it lies in, where it is a known one on both sides."""
    patterns = _VALUES if max(b - a, d - c) <= _LONGEST else _VALUES[:2]
    for origin, pattern in patterns:
        before, after = _covering(pattern, old, a, b), _covering(pattern, new, c, d)
        if before is not None and after is not None and before[0] != after[0]:
            only_day = pattern is _CLOCK and before["time"] == after["time"]
            return Changed(
                start=after.start(),
                end=after.end(),
                old=before[0],
                new=after[0],
                origin=Origin.DATE if only_day else origin,
            )
    was, now = old[a:b], new[c:d]
    near = new[max(c - 25, 0) : c] + " " + new[d : d + 15]
    counter = Origin.COUNTER if _counts(was, now, near) else None
    return Changed(start=c, end=d, old=was, new=now, origin=counter)


def _counts(was: str, now: str, near: str) -> bool:
    """Whether two numbers are readings of a counter: the words beside them say so, or it grew."""
    if not (_NUMBER.fullmatch(was) and _NUMBER.fullmatch(now)):
        return False
    grew = was.isdecimal() and now.isdecimal() and 0 < int(now) - int(was) <= _STEPS
    return grew or _COUNTED.search(near) is not None


def _covering(pattern: re.Pattern[str], text: str, start: int, end: int) -> re.Match[str] | None:
    """Return the match that has all of a difference in it."""
    line = text.rfind("\n", 0, start) + 1
    if pattern is _SIGNED and "://" not in text[max(start - 2000, 0) : end]:
        return None
    if pattern is _ENCODED:  # an image fills its string, and lines are short elsewhere
        return pattern.fullmatch(text)
    for found in pattern.finditer(text, max(start - _AROUND, line), end + _AROUND):
        if found.start() <= start and end <= found.end() and found[0]:
            return found
    return None
