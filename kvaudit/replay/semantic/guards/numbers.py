"""Numbers, however spelled, times of day, identifiers and units.

``one`` and 一 count only before something that is counted: alone they are pronouns and articles.
"""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal

from kvaudit.replay.semantic.guards.facts import LONG_TEXT, Facts

_ONES = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen"),
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SMALL = {word: value for value, word in enumerate(_ONES)} | {
    word: 10 * value for value, word in enumerate(_TENS, 2)
}
_LARGE = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_ORDINALS = {
    word: value
    for value, word in enumerate(
        "third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(),  # noqa: SIM905
        3,
    )
}
"""Without second, which is more often a unit of time."""
_MULTIPLES = {"twice": 2, "double": 2, "triple": 3, "thrice": 3, "dozen": 12}
_SPELLED = re.compile(
    rf"\b(?:(?:{'|'.join([*_ONES, *_TENS, *_LARGE])})(?:[\s-]+(?:and\s+)?)?)+\b", re.IGNORECASE
)
_IDENTIFIER = re.compile(
    r"(?<![\w])(?=[\w.-]*[A-Za-z])(?=[\w.-]*\d)[A-Za-z0-9]+(?:[-._/][A-Za-z0-9]+)*(?![\w])",
    re.ASCII,
)
_CLOCK = re.compile(
    r"\b(\d{1,2})(?:[:.](\d{2}))?\s*(a\.?m\b\.?|p\.?m\b\.?)|\b(\d{1,2}):(\d{2})\b", re.IGNORECASE
)
_PAST = re.compile(
    rf"\b(quarter|half|ten|twenty|five) (past|to) (\d{{1,2}}\b|{'|'.join(_ONES[1:13])})\b",
    re.IGNORECASE,
)
_HALF = re.compile(r"(\d)\s*([ap]\.?m\b)", re.IGNORECASE)
_DIGITS = re.compile(r"(?<![A-Za-z\d.])\d+(?:,\d{3})+(?:\.\d+)?|(?<![A-Za-z\d])\d+(?:\.\d+)?")
_MEASURE = re.compile(
    r"^(\d+(?:\.\d+)?)(k|m|bn|kg|g|mg|km|cm|mm|gb|mb|tb|kb|ms|s|h|min|st|nd|rd|th|x|am|pm|w|v|hz)$",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"(\d+(?:\.\d+)?)(?:-[a-z]+)+")
"""A number with what it counts, such as 2-year."""
_COUNTED_IN_TEXT = re.compile(r"(?<![\w.-])(\d+(?:\.\d+)?)(?=-[A-Za-z]+(?:-[A-Za-z]+)*(?![\w-]))-")
_SMALL_COUNTS = frozenset(map(str, range(1, 10)))
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*%?(?:st|nd|rd|th|am|pm)?|first|second")
_SCALES = {"k": 1000, "m": 10**6, "bn": 10**9}

_HAN_DIGITS = {c: "零一二三四五六七八九".index(c) for c in "零一二三四五六七八九"} | {
    "〇": 0,
    "两": 2,
    "双": 2,
}
_HAN_TENS = {"十": 10, "百": 100, "千": 1000}
_HAN_LARGE = {"万": 10**4, "亿": 10**8}
_HAN = re.compile("[零〇一二三四五六七八九十百千万亿两双]+")
_HAN_IDIOMS = re.compile(
    "一步|一个|一会|[一万千百十]+(?:下|些|点儿|样|般|起|直|定|共|致|切|旦|边|面|会儿|回事|方|向|律|味|分)|"
    "[唯同统之第]一|一个|一份|一种|一次|万一|千万|百分之|十分|三明治|二维|四川|五香|七夕|"
    "九寨|(?<![零〇一二三四五六七八九十百千万亿两])一(?![零〇一二三四五六七八九十百千万亿两点])(?=[\u3400-\u9fff])"
)
_UNIT_WORDS = {
    "kilometre": "km kilometer kilometers kilometres kms 公里 千米",
    "mile": "miles 英里",
    "metre": "meter meters metres 米",
    "foot": "feet ft 英尺",
    "inch": "inches 英寸",
    "kilogram": "kg kilo kilos kilograms 公斤 千克",
    "pound weight": "lb lbs",
    "gram": "g grams 克",
    "ounce": "ounces oz 盎司",
    "celsius": "centigrade 摄氏",
    "fahrenheit": "华氏",
    "litre": "liter liters litres 升",
    "gallon": "gallons 加仑",
    "minute": "minutes min mins 分钟",
    "hour": "hours hr hrs 小时",
    "day": "days 天",
    "week": "weeks 周",
    "month": "months 个月",
    "year": "years 年",
    "dollar": "dollars usd $ us$ 美元 美金",
    "euro": "euros eur € 欧元",
    "pound": "gbp pounds £ 英镑",
    "yuan": "rmb cny ¥ 人民币 元",
    "yen": "jpy 日元",
    "percent": "% 百分之",
    "milligram": "mg milligrams 毫克",
    "microgram": "mcg µg micrograms 微克",
    "jin": "斤",
    "ton": "tons tonne tonnes 吨",
    "millilitre": "ml milliliter milliliters millilitres 毫升",
    "centimetre": "cm centimeter centimeters centimetres 厘米",
    "millimetre": "mm millimeter millimeters millimetres 毫米",
    "second": "seconds secs 秒 秒钟",
    "millisecond": "ms milliseconds 毫秒",
    "kilobyte": "kb kilobytes",
    "megabyte": "mb megabytes",
    "gigabyte": "gb gigabytes",
    "terabyte": "tb terabytes",
    "miles an hour": "mph",
    "kilometres an hour": "km/h kmh kph",
    "kelvin": "开尔文",
    "square metre": "平米 平方米 平方",
    "acre": "acres 亩",
    "hectare": "hectares 公顷",
    "cup": "cups 杯",
    "tablespoon": "tbsp tablespoons 汤匙",
    "teaspoon": "tsp teaspoons 茶匙",
    "watt": "watts 瓦",
    "kilowatt": "kw kilowatts 千瓦",
    "decade": "decades 年代",
    "century": "centuries 世纪",
}
_UNITS = {word: unit for unit, words in _UNIT_WORDS.items() for word in (unit, *words.split())}
_HAN_WEEKDAY = re.compile(
    "(?:周|星期|礼拜)[一二三四五六日天末]|每周|年卡|年假|年龄|年级|天气|今天|明天|昨天|后天|前天"
)
"""No units, though they hold one's character."""
_ORDINAL_BEFORE = r"\b(?:the|my|your|his|her|our|their|its|a|this|that|every|each)\s+"
_FIRST_SECOND = {
    1: re.compile(_ORDINAL_BEFORE + r"first\s+(?=[a-z])", re.IGNORECASE),
    2: re.compile(_ORDINAL_BEFORE + r"second\s+(?!of\b|to\b|or\b|and\b)(?=[a-z])", re.IGNORECASE),
}
"""Ordinals before what they count: alone, first is an adverb and second a unit of time."""
_LATIN_UNITS = re.compile(
    r"(?<![A-Za-z])("
    + "|".join(re.escape(w) for w in sorted(_UNITS, key=len, reverse=True) if w.isascii())
    + r"|£|€|¥)(?![A-Za-z])",
    re.IGNORECASE,
)
_HAN_UNITS = re.compile(
    "|".join(re.escape(w) for w in sorted(_UNITS, key=len, reverse=True) if not w.isascii())
)


def is_number(word: str) -> bool:
    """Return whether a word in lower case is a number or an ordinal, and no identifier."""
    return word in _SMALL or word in _ORDINALS or _NUMBER.fullmatch(word) is not None


def numbers(facts: Facts) -> Counter[str]:
    """Return every number of a text with how often it stands there."""
    found: Counter[str] = Counter()
    text = facts.text
    for identifier in _IDENTIFIER.findall(text):
        measured = _MEASURE.fullmatch(identifier)
        if measured is not None:
            scale = _SCALES.get(measured[2].lower(), 1)
            found[_plain(Decimal(measured[1]) * scale)] += 1
    text = _PAST.sub(_past, _COUNTED_IN_TEXT.sub(r"\1 ", text))
    text = _CLOCK.sub(lambda match: _clock(match, found), text)
    text = _IDENTIFIER.sub(" ", text)
    for digits in _DIGITS.findall(text):
        found[_plain(Decimal(digits.replace(",", "")))] += 1
    for match in _SPELLED.finditer(text):
        value = _spelled(match[0].lower().replace("-", " ").split())
        if value is not None:
            found[_plain(Decimal(value))] += 1
    for word, value in {**_ORDINALS, **_MULTIPLES}.items():
        found[_plain(Decimal(value))] += facts.words.count(word)
    for value, pattern in _FIRST_SECOND.items():
        found[_plain(Decimal(value))] += len(pattern.findall(text))
    if facts.has_han:
        _count_han(text, found)
    return +found


def numbers_differ(a: Facts, b: Facts) -> bool:
    """Return whether the texts give different numbers.

    A long text may count what another only lists: a small number that one alone has is none.
    """
    first, second = set(a.numbers), set(b.numbers)
    if first == second:
        return False
    long = min(len(a.words), len(b.words)) >= LONG_TEXT
    extra = first ^ second
    return not (long and (first < second or second < first) and extra <= _SMALL_COUNTS)


def _past(match: re.Match[str]) -> str:
    """Return a time such as quarter to ten as 9:45."""
    minutes = {"quarter": 15, "half": 30, "ten": 10, "twenty": 20, "five": 5}[match[1].lower()]
    hour = int(match[3]) if match[3].isdigit() else _SMALL[match[3].lower()]
    if match[2].lower() == "to":
        hour, minutes = hour - 1 or 12, 60 - minutes
    return f"{hour}:{minutes:02d}"


def _clock(match: re.Match[str], found: Counter[str]) -> str:
    """Count a time of day as its hour on a clock of twelve, and its minutes."""
    hour, minute = int(match[1] or match[4]), int(match[2] or match[5] or 0)
    found[_plain(Decimal(hour % 12 or 12))] += 1
    if minute:
        found[_plain(Decimal(minute))] += 1
    return " "


def _plain(value: Decimal) -> str:
    return f"{value.normalize():f}"


def _spelled(words: list[str]) -> int | None:
    """Return the value of number words; None for a lone ``one`` or scale."""
    words = [word for word in words if word != "and"]
    if len(words) == 1 and (words[0] == "one" or words[0] in _LARGE):
        return None
    total = part = 0
    for word in words:
        if word in _SMALL:
            part += _SMALL[word]
        elif word == "hundred":
            part = max(part, 1) * 100
        else:
            total += max(part, 1) * _LARGE[word]
            part = 0
    return total + part


def _count_han(text: str, found: Counter[str]) -> None:
    percent = re.findall("百分之([零一二三四五六七八九十百两]+)", text)
    text = re.sub("百分之[零一二三四五六七八九十百两]+", " ", text)
    # Days of the week are dates, and no numbers.
    text = re.sub("(?:周|星期|礼拜)[一二三四五六日天]", " ", text)
    text = re.sub("上周|下周|第一", " ", text)
    spans = [m[0] for m in _HAN.finditer(_HAN_IDIOMS.sub(" ", text))]
    for span in [*percent, *spans]:
        value = _han_value(span)
        if value is not None:
            found[str(value)] += 1


def _han_value(span: str) -> int | None:
    """Return the value of Chinese numerals; digits in a row are read as digits."""
    if not any(c in _HAN_TENS or c in _HAN_LARGE for c in span):
        return int("".join(str(_HAN_DIGITS[c]) for c in span)) if span != "一" else None
    if all(c in _HAN_LARGE or c in "百千" for c in span):
        return None
    total = part = digit = 0
    for character in span:
        if character in _HAN_DIGITS:
            digit = _HAN_DIGITS[character]
        elif character in _HAN_TENS:
            part += (digit or 1) * _HAN_TENS[character]
            digit = 0
        else:
            total = (total + part + digit) * _HAN_LARGE[character]
            part = digit = 0
    return total + part + digit


def identifiers(facts: Facts) -> frozenset[str]:
    """Return the tokens of letters and digits that name one thing: orders, versions, models."""
    found = {token.lower() for token in _IDENTIFIER.findall(facts.text)}
    return frozenset(t for t in found if not _MEASURE.fullmatch(t) and not _COUNTED.fullmatch(t))


def units(facts: Facts) -> frozenset[str]:
    """Return the units, currencies and halves of the day that a text names."""
    found = {_UNITS[w.lower()] for w in _LATIN_UNITS.findall(facts.text)}
    found |= {m[2].lower().replace(".", "") for m in _HALF.finditer(facts.text)}
    if facts.has_han:
        text = _HAN_WEEKDAY.sub(" ", facts.text)
        found |= {_UNITS[word] for word in _HAN_UNITS.findall(text)}
    return frozenset(found)
