"""What kind of value fills a slot, told from its shape, in whatever language it is written.

The patterns by which a log is linted name the usual spellings
(`kvaudit.analyzers.template.request_log.texts`). Here two filled-in lines are at hand, so a
value may be told by less: what a date looks like when its month is a word in any script, and that
an id has letters and digits that nobody would choose.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kvaudit.analyzers.divergence.slots import Slot
from kvaudit.core.why import Cause

_YEAR = r"(?:19|20)\d{2}"
_HAN_DIGITS = "〇零一二三四五六七八九十廿卅"
_MONTH_WORD = r"[^\W\d_]{3,}\.?"
_CLOCKS = re.compile(
    rf"(?<!\d){_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])[T_-]?(?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d)?"
    r"|(?<!\d)(?:[01]?\d|2[0-3])\s?h\s?[0-5]\d(?!\d)"
    r"|(?<![\d.])(?:[01]?\d|2[0-3])[.:][0-5]\d[.:][0-5]\d(?![\d.])"
    r"|(?<![\d.])(?:[01]?\d|2[0-3])[.:][0-5]\d\s?(?:uhr\b|h\b|klo\b)"
    r"|(?:\bkl\.?|\bo|\bum|\bklo)\s(?:[01]?\d|2[0-3])[.:][0-5]\d(?!\d)",
    re.IGNORECASE,
)
_DATES = re.compile(
    # 4 мая 2026, 4. Mai 2026, 4 de marzo de 2026, 04-May-2026
    rf"(?<!\d)\d{{1,2}}(?:st|nd|rd|th|er|\.|º|°)?[\s,.-]{{1,2}}(?:d[eio][lu]?\s|of\s)?{_MONTH_WORD}[\s,.-]{{1,3}}"
    rf"(?:d[eio][lu]?\s)?{_YEAR}(?!\d)"
    # May 4, 2026
    rf"|{_MONTH_WORD}\s\d{{1,2}}(?:st|nd|rd|th|\.)?,?\s{_YEAR}(?!\d)"
    # 2026. május 4., 2026년 5월 4일, 2026年5月4日
    rf"|(?<!\d){_YEAR}[^\w\n]{{0,2}}[^\W\d]{{0,12}}[^\w\n]{{0,2}}\d{{1,2}}[^\W\d][^\w\n]{{0,2}}(?:\d{{1,2}}[^\W\d])?"
    rf"|(?<!\d){_YEAR}[./-]\d{{1,2}}[./-]\d{{1,2}}(?!\d)|(?<!\d)\d{{1,2}}[./-]\d{{1,2}}[./-]{_YEAR}(?!\d)"
    rf"|(?<!\d){_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d)"
    # 3月2日, 3월 2일: without a year
    rf"|(?<!\d)\d{{1,2}}\s?[月월]\s?\d{{1,2}}\s?[日号號일]"
    # 二〇二六年三月二日
    rf"|(?:[{_HAN_DIGITS}]{{2,4}}年)?[{_HAN_DIGITS}]{{1,2}}月[{_HAN_DIGITS}]{{1,3}}[日号號]"
    rf"|(?<![\d/]){_YEAR}-?[wW](?:[0-4]?\d|5[0-3])(?!\d)"
)
_DAY_OF_MONTH = re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})(?![\d/])")
_OWNER_ID = re.compile(
    r"(?:^|[^a-z])(?:user|tenant|customer|cust|client|org|account|acct?|team|member|guest)[-_]?\d+$",
    re.IGNORECASE,
)
"""``tenant-12``: of whom it is says the word, and the number is not random."""
_ID_CHARACTER = r"[A-Za-z0-9_-]"
"""Of other scripts, the words beside a value follow it without a space: 第43次请求."""
_ID = re.compile(f"{_ID_CHARACTER}+")
_LEAST_ID = 7
_LONG_NUMBER = 10
_OF_SESSION = re.compile(
    r"(?<![^\W_])(?:sessions?|sitzung(?:s-?id)?|conversation|thread|chat|channel|cwd|directory|folder"
    r"|\w*verzeichnis|\w*ordner|workspace|worktree"
    r"|path|host|hostname|sandbox|container|pid|tty|port|scratch)(?![^\W_])"
    r"|会话|工作目录|セッション|작업",
    re.IGNORECASE,
)
_LABEL_CHARS = 40
_PARAMETER = re.compile(
    r"\b(?:reasoning|thinking|effort|verbosity|temperature|top_p|tool_choice|response[_ ]format"
    r"|mode)\b[^\n]{0,12}$",
    re.IGNORECASE,
)
_LEVELS = re.compile(
    r"none|minimal|low|medium|high|xhigh|max|on|off|auto|true|false|enabled|disabled|default"
    r"|required|any|concise|detailed",
    re.IGNORECASE,
)


class Widened(NamedTuple):
    """A slot with what belongs to its value in front and behind."""

    later: str
    earlier: str
    label: str
    """What stands before it in its line."""


def widened(slot: Slot, inside: str) -> Widened:
    """Return both values, widened over the characters of a pattern's class."""
    before = re.search(rf"{inside}*$", slot.before)
    after = re.match(rf"{inside}*", slot.after)
    head, tail = before[0] if before else "", after[0] if after else ""
    return Widened(
        f"{head}{slot.later}{tail}",
        f"{head}{slot.earlier}{tail}",
        slot.before[: len(slot.before) - len(head)][-_LABEL_CHARS:],
    )


def kind_of(slot: Slot) -> Cause | None:
    """Return what kind of value differs, where its shape tells on both sides."""
    for pattern, cause in ((_CLOCKS, Cause.SUB_DAY_CLOCK), (_DATES, Cause.CALENDAR_DATE)):
        if _in_both(pattern, slot):
            return cause
    if _is_day_of_month(slot):
        return Cause.CALENDAR_DATE
    if is_parameter(slot):
        return Cause.PARAMETER_CHANGE
    whole = widened(slot, r"[\w-]")
    if all(map(_OWNER_ID.search, (whole.later, whole.earlier))):
        return Cause.IDENTITY
    if _is_random(slot):
        return Cause.SESSION_VALUE if _OF_SESSION.search(whole.label) else Cause.RANDOM_ID
    return None


def names_session(slot: Slot) -> bool:
    """Whether the label in front says that the value belongs to a session or a place."""
    return _OF_SESSION.search(slot.before[-_LABEL_CHARS:]) is not None


def is_parameter(slot: Slot) -> bool:
    """Whether two settings of the model differ, which some templates write into the prompt."""
    values = (slot.later.strip(), slot.earlier.strip())
    return _PARAMETER.search(slot.before) is not None and all(map(_LEVELS.fullmatch, values))


def numbers_of(slot: Slot) -> tuple[int, int] | None:
    """Return the later and the earlier number, where nothing else differs."""
    a, b = slot.later, slot.earlier
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    while head and a[head - 1].isdecimal():
        head -= 1
    while tail and a[len(a) - tail].isdecimal():
        tail -= 1
    mine, yours = (text[head : len(text) - tail].replace(",", "") for text in (a, b))
    if not (mine.isdecimal() and yours.isdecimal() and max(len(mine), len(yours)) < 12):
        return None
    return int(mine), int(yours)


def _in_both(pattern: re.Pattern[str], slot: Slot) -> bool:
    """Whether a match covers a part of the slot on both sides, and differs between them."""
    mine, yours = (
        [
            m[0]
            for m in pattern.finditer(
                f"{slot.before[-_LABEL_CHARS:]}{value}{slot.after[:_LABEL_CHARS]}"
            )
            if m.end() > len(slot.before[-_LABEL_CHARS:])
            and m.start() < len(slot.before[-_LABEL_CHARS:]) + len(value)
        ]
        for value in (slot.later, slot.earlier)
    )
    return bool(mine) and bool(yours) and mine != yours


def _is_day_of_month(slot: Slot) -> bool:
    whole = widened(slot, r"[\d/]")
    found = [_DAY_OF_MONTH.fullmatch(v) for v in (whole.later, whole.earlier)]
    return all(
        f is not None and min(int(f[1]), int(f[2])) <= 12 >= 1 and max(int(f[1]), int(f[2])) <= 31
        for f in found
    )


def _is_random(slot: Slot) -> bool:
    """Whether both values are ids that nobody chose: letters among digits, or very many digits."""
    whole = widened(slot, _ID_CHARACTER)
    found = [_ID.findall(v) for v in (whole.later, whole.earlier)]
    if not all(len(ids) == 1 for ids in found):
        return False
    mine, yours = found[0][0], found[1][0]
    if min(len(mine), len(yours)) < _LEAST_ID or abs(len(mine) - len(yours)) > 2:
        return False
    digits = [sum(c.isdecimal() for c in v) for v in (mine, yours)]
    if all(v.isdecimal() for v in (mine, yours)):
        far = abs(int(mine) - int(yours)) > 10 ** (len(mine) - 3)
        return len(mine) >= _LONG_NUMBER and far
    return all(d >= 2 for d in digits) and any(c.isalpha() for c in mine + yours)
