"""Dates, days of the week and words that count from today, in English and Chinese."""

from __future__ import annotations

import re

from kvaudit.replay.semantic.guards.facts import Facts

_MONTHS = [
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
]
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_SHORT_DAYS = {"mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thurs": 3, "fri": 4}
_NEVER_MONTHS = frozenset({"may", "march"})
"""Verbs too; a month only behind a preposition or beside a number."""
_PLAIN_MONTHS = frozenset(_MONTHS) - _NEVER_MONTHS
"""In lower case too."""
_MONTH_BEFORE = frozenset(
    {"in", "of", "since", "until", "till", "by", "from", "for", "this", "next"}
)
_RELATIVE = re.compile(
    r"\b(today|tonight|tomorrow|yesterday|weekend|weekday|weekdays|weekends|"
    r"(?:this|next|last|previous|past|coming|same)[\s-](?:day|week|month|year|quarter|morning|"
    r"afternoon|evening|night|weekend|summer|winter|spring|autumn|fall|season|term|"
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday))\b",
    re.IGNORECASE,
)
_SAME = {"tonight": "today", "past": "last", "previous": "last", "coming": "next"}
_PARTS = frozenset({"morning", "noon", "midday", "afternoon", "evening", "night", "midnight"})
_HAN_PARTS = re.compile("凌晨|早上|早晨|上午|中午|下午|傍晚|晚上|半夜")
_HAN_SAME_PART = {"早晨": "早上"}
_HERE = frozenset({"today", "今天"})
"""What a question means that names no day."""
_SEASONS = frozenset({"summer", "winter", "spring", "autumn"})
_HAN_RELATIVE = re.compile(
    "大后天|大前天|今天|今日|明天|明日|昨天|昨日|前天|后天|今晚|明晚|昨晚|今早|明早|今年|明年|去年|前年|后年|"
    "(?:上上|下下|上|下|本|这)个?(?:周|星期|礼拜|月|季度|学期)|周末|工作日"
)
_HAN_SAME = {"今日": "今天", "明日": "明天", "昨日": "昨天", "今晚": "今天", "今早": "今天"}
_HAN_DAY = re.compile("(?:周|星期|礼拜)([一二三四五六日天])")


def date_words(facts: Facts) -> frozenset[str]:
    """Return what a text says of days, months and years, each in one spelling."""
    found = set()
    for place, word in enumerate(facts.words):
        if word in _DAYS or word.removesuffix("s") in _DAYS:
            found.add(word.removesuffix("s"))
        elif word in _SHORT_DAYS and facts.spelled[place][0].isupper():
            found.add(_DAYS[_SHORT_DAYS[word]])
        elif word in _SEASONS:
            found.add(word)
        elif (month := _month(facts, place)) is not None:
            found.add(month)
    for match in _RELATIVE.findall(facts.text):
        words = [_SAME.get(w, w) for w in re.split(r"[\s-]+", match.lower())]
        found.add(" ".join(words))
    if facts.has_han:
        found |= {_HAN_SAME.get(w, w) for w in _HAN_RELATIVE.findall(facts.text)}
        found |= {f"周{'日' if d == '天' else d}" for d in _HAN_DAY.findall(facts.text)}
    return frozenset(found)


def dates_differ(a: Facts, b: Facts) -> bool:
    """Return whether the texts speak of other days, months or years, or parts of the day."""
    if a.dates != b.dates and not (a.dates ^ b.dates <= _HERE and not a.dates & b.dates):
        return True
    first, second = _parts(a), _parts(b)
    return bool(first - second) and bool(second - first)


def _parts(facts: Facts) -> frozenset[str]:
    found = set(re.findall(r"[a-z]+", facts.text.lower())) & _PARTS
    if facts.has_han:
        found |= {_HAN_SAME_PART.get(part, part) for part in _HAN_PARTS.findall(facts.text)}
    return frozenset(found)


def _month(facts: Facts, place: int) -> str | None:
    word = facts.words[place]
    if not facts.spelled[place][0].isupper() and word not in _PLAIN_MONTHS:
        return None
    found = next(
        (m for m in _MONTHS if word in (m, m[:3]) or (m, word) == ("september", "sept")), None
    )
    if found is None or found not in _NEVER_MONTHS:
        return found
    before = facts.words[place - 1] if place else ""
    after = facts.words[place + 1] if place + 1 < len(facts.words) else ""
    is_date = before in _MONTH_BEFORE or before[:1].isdigit() or after[:1].isdigit()
    return found if is_date else None
